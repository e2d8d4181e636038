/** The jobs of the chaos test: what each does, and everything that must be true of it afterwards. */
import type { FinalStatus, JobInput } from "@millrace/contract";
import { python } from "@millrace/testing/millrace/jobs.ts";
import type { Random } from "@millrace/testing/random.ts";
import type { Witness } from "./witness.ts";

/** Jobs take turns on these. Starting a pod costs more than everything else, so it is only every fifth. */
const engines = ["local", "slurm", "kubernetes", "local", "slurm"] as const;
type EngineName = (typeof engines)[number];

/** `early`: canceled as soon as it is created, wherever it is then. `ready`: canceled when it has written everything. */
type Cancel = "never" | "early" | "ready";

export interface Plan {
  readonly index: number;
  readonly engine: EngineName;
  readonly cancel: Cancel;
  readonly input: JobInput;
  readonly status: FinalStatus;
  /** The exit code of each attempt that runs. The last one's output is not complete if the job is canceled early. */
  readonly codes: readonly number[];
  /** What the attempt with this number writes, counted from 1. */
  output(turn: number): Buffer;
}

/** How much a job writes, and how slowly. */
interface Writing {
  readonly lines: number;
  readonly width: number;
  readonly seconds: number;
}

/** Most are short. Some write many lines for many seconds, so that servers and clusters die meanwhile; some write much. */
function writing(random: Random): Writing {
  const kind = random.below(20);
  if (kind === 0) return { lines: 200 + random.below(400), width: 4000 + random.below(4000), seconds: random.below(4) };
  if (kind < 5) return { lines: 300 + random.below(700), width: 10 + random.below(60), seconds: 10 + random.below(25) };
  return { lines: 1 + random.below(200), width: random.below(120), seconds: random.below(40) / 10 };
}

export function plan(index: number, random: Random, witness: Witness): Plan {
  const engine = engines[index % engines.length] as EngineName;
  const wrote = writing(random);
  const kind = random.below(20);
  const code = 1 + random.below(9);
  const cancel: Cancel = kind === 0 ? "early" : kind === 1 || kind === 2 ? "ready" : "never";
  const isRetried = kind === 3 || kind === 4;
  const codes = cancel !== "never" ? [-1] : isRetried ? [code, 0] : kind < 9 ? [code] : [0];
  const last = codes.at(-1);
  const input = python(script(index, wrote, codes, witness), {
    query_name: `chaos-${index}.py`,
    compute_cluster_name: engine,
    retries: isRetried ? 1 : 0,
    retry_delay: 0,
  });
  return {
    index,
    engine,
    cancel,
    input,
    status: last === -1 ? "CANCELED" : last === 0 ? "COMPLETE" : "FAILED",
    codes,
    output: (turn) => output(index, wrote, turn),
  };
}

/** Lines end in bytes that are no text. */
const script = (
  index: number,
  { lines, width, seconds }: Writing,
  codes: readonly number[],
  witness: Witness,
) => `${witness.script(index)}
turn = tell("began")
for i in range(${lines}):
    sys.stdout.buffer.write(b"%d of job ${index}, attempt %d: " % (i, turn) + b"x" * ${width} + b"\\n")
    sys.stdout.buffer.flush()
    time.sleep(${seconds / lines})
sys.stdout.buffer.write(b"tail\\xff\\0%d" % turn)
sys.stdout.buffer.flush()
if ${codes.at(-1)} < 0:
    tell("ready")
    time.sleep(3600)
tell("ended")
sys.exit([${codes}][turn - 1])
`;

function output(index: number, { lines, width }: Writing, turn: number): Buffer {
  const written = Array.from(
    { length: lines },
    (_, i) => `${i} of job ${index}, attempt ${turn}: ${"x".repeat(width)}\n`,
  );
  return Buffer.concat([Buffer.from(written.join("")), Buffer.from("tail\xff\0", "latin1"), Buffer.from(String(turn))]);
}
