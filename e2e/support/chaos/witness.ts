/** Hears from jobs, wherever they run, that they begin and that they reach their end. Survives everything that the test kills. */
import type { ServerResponse } from "node:http";
import { type Received, Receiver } from "@millrace/testing/servers/receiver.ts";

/** What one process of a job said. */
interface Told {
  readonly job: number;
  /** Key of the attempt. */
  readonly attempt: string;
  /** Random name of the process, which may say the same twice if an answer is lost. */
  readonly process: string;
}

type Word = "began" | "ready" | "ended";

export class Witness {
  readonly #receiver: Receiver;
  readonly #told: Record<Word, Map<string, Told>> = { began: new Map(), ready: new Map(), ended: new Map() };
  readonly #address: string;
  /** Called when a job waits to be canceled. */
  onReady: (job: number) => void = () => {};

  static async start(address: string): Promise<Witness> {
    return new Witness(await Receiver.start(undefined, { host: address }), address);
  }

  private constructor(receiver: Receiver, address: string) {
    this.#receiver = receiver;
    this.#address = address;
    receiver.answer = (got, response) => this.#hear(got, response);
  }

  #hear({ path }: Received, response: ServerResponse): undefined {
    const [, word = "", job = "", attempt = "", process = ""] = path.split("/");
    const told = this.#told[word as Word];
    const isNew = !told.has(process);
    told.set(process, { job: Number(job), attempt, process });
    if (word === "ready" && isNew) this.onReady(Number(job));
    response.writeHead(200).end(String(this.processes("began", Number(job)).length));
  }

  /** The attempt of each process of a job that said this word. An attempt that ran twice is here twice. */
  processes = (word: Word, job: number): string[] =>
    [...this.#told[word].values()].filter((told) => told.job === job).map(({ attempt }) => attempt);

  /** How many processes have begun and not said since that they have nothing more to do. */
  get running(): number {
    const { began, ready, ended } = this.#told;
    return [...began.keys()].filter((process) => !ready.has(process) && !ended.has(process)).length;
  }

  /** Numbers of the jobs of which a process has nothing more to do. */
  get done(): Set<number> {
    return new Set([...this.#told.ready.values(), ...this.#told.ended.values()].map(({ job }) => job));
  }

  /** Python that defines `tell`: says a word, and returns how many processes of this job have begun. */
  script = (job: number) => `
import http.client, os, sys, time, uuid
me = uuid.uuid4().hex
def tell(word):
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection("${this.#address}", ${this.#receiver.port}, timeout=30)
            connection.request("POST", "/".join(["", word, "${job}", os.environ["MILLRACE_ATTEMPT"], me]))
            return int(connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
    sys.exit("the witness is away")
`;

  stop = () => this.#receiver.stop();
}
