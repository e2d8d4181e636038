/** Runs the commands of README.md and docs/ unchanged against a real server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { routes } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { repository } from "@millrace/testing/repository.ts";
import { freePort } from "@millrace/testing/servers/server-process.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { commandsOf, type DocumentedCommand, readFences, Terminal } from "./support/documented.ts";

const backfills = "runs a month of pipelines: e2e/cli-backfill.test.ts";
const kubernetes = "needs a Kubernetes cluster: e2e/long/client-kubernetes.test.ts has one";
/**
 * Commands that are not run, and why. All others are; remove an entry here when its command is removed from the docs.
 */
const slurm = "needs a Slurm cluster: e2e/client-slurm.test.ts";
const rayCluster = "needs a Ray cluster: e2e/client-ray.test.ts";
const notRun: Readonly<Record<string, string>> = {
  "npm test": "this test is a part of it",
  "millrace credentials set aws --own --prompt AWS_SECRET_ACCESS_KEY": "is typed: e2e/cli-credentials.test.ts",
  "millrace credentials rm old": "asks at a terminal: e2e/cli-asks-first.test.ts",
  "millrace team restore-datasets --copy 2026-01-31T02:00:00.000Z": "asks at a terminal: e2e/cli-asks-first.test.ts",
  'rsync -a --sparse "$dir" backup-host:/backups/': "needs another machine",
  "git clone https://host/millrace.git /opt/millrace": "writes outside of the test's folders",
  "sh /opt/millrace/scripts/install.sh run": "writes outside of the test's folders; `npm start` runs the same",
  "cp /opt/millrace/deploy/millrace.service /etc/systemd/system/": "writes outside of the test's folders",
  "systemctl enable --now millrace": "needs systemd; e2e/client-proxies.test.ts has it look at the unit",
  "journalctl -u millrace": "needs systemd",
  "podman build -t millrace -f deploy/Containerfile .": "needs a registry of images",
  "podman run --rm -v millrace:/data millrace":
    "needs a registry of images; e2e/cli-serve.test.ts has its first start and the password after it",
  "podman run --rm -it -v millrace:/data millrace admin password": "needs a registry of images",
  "podman run -d --name millrace --init=false -p 127.0.0.1:8484:8484 -v millrace:/data -e MILLRACE_PUBLIC_URL=https://millrace.example.com millrace":
    "needs a registry of images",
  "millrace job run --repository https://git.example/team/etl.git@main --script etl/report.py --req='-r requirements.txt' --cron '0 3 * * *'":
    "needs a repository with that script: e2e/cli-repository-script.test.ts",
  "millrace pipeline backfill river-mill --from 2026-01-01 --to 2026-01-31 --every day": backfills,
  "millrace pipeline backfill river-mill --from 2026-01-01 --to 2026-02-01 --every '30 2 * * 1-5' --timezone Europe/Berlin --parallel 4":
    backfills,
  "millrace backfill show 7": backfills,
  "millrace backfill retry 7": backfills,
  "millrace backfill cancel 7": backfills,
  "kubectl apply -f deploy/kubernetes/jobs.yaml": kubernetes,
  "kubectl config view --raw --minify --flatten > kubeconfig": kubernetes,
  "token=$(kubectl -n millrace-jobs get secret millrace-token -o jsonpath='{.data.token}' | base64 -d)": kubernetes,
  'kubectl --kubeconfig kubeconfig config set-credentials millrace --token="$token"': kubernetes,
  "kubectl --kubeconfig kubeconfig config set-context --current --user=millrace --namespace=millrace-jobs": kubernetes,
  "kubectl --kubeconfig kubeconfig config view --raw --minify --flatten -o json > kubeconfig.json": kubernetes,
  "millrace cluster add k8s --engine kubernetes --max-workers 20 --secret kubeconfig=@kubeconfig.json": kubernetes,
  "millrace cluster test k8s": kubernetes,
  "rm kubeconfig kubeconfig.json": kubernetes,
  "millrace job run --cluster k8s hello.py": kubernetes,
  "ray get-auth-token --generate > ray-token": rayCluster,
  "millrace cluster add ray --engine ray --max-workers 64 --for main --option address=http://ray-head:8265 --secret token=@ray-token":
    rayCluster,
  "millrace cluster test ray": rayCluster,
  "millrace job run --cluster ray hello.py": rayCluster,
  "millrace notify set team@example.com --event schedule.failure schedule.overdue":
    "needs a mail server: e2e/cli-webhook.test.ts",
  "srun sh -c 'hostname; python3 --version; id -u'": slurm,
  "millrace cluster add hpc --engine slurm --max-workers 64 --for main --option partition=batch --option time=1-00:00:00":
    slurm,
  "millrace cluster test hpc": slurm,
  "millrace job run hello.py --cluster hpc": slurm,
};
/** Commands that end with 1, as the page shows. */
const failing = ["millrace job run broken.py"];
const languages = ["console", "dotenv", "http", "json", "mermaid", "python", "sh", "text", "typescript"];
/** Generous, because an environment may be built. */
const patience = { timeout: 1_200_000 };

const fences = await readFences();
const commands = fences.filter(({ language }) => ["console", "sh"].includes(language)).flatMap(commandsOf);
const pages = [...new Set(commands.map(({ page }) => page))];

test("every fenced block of the documentation names its language", () => {
  for (const { page, language, lines } of fences)
    assert.ok(languages.includes(language), `${page}: \`\`\`${language} before: ${lines[0]}`);
});

test("every command that is not run is in the documentation", () => {
  for (const name of [...Object.keys(notRun), ...failing])
    assert.ok(
      commands.some((command) => command.name === name),
      `no page shows: ${name}`,
    );
});

/** Replaces the made-up names of pages by real ones, as a reader would. */
class Reader {
  readonly folder: string;
  readonly terminal: Terminal;
  readonly #names: Map<string, string>;
  readonly #env: NodeJS.ProcessEnv;
  #server: Terminal | undefined;

  constructor(folder: string, env: NodeJS.ProcessEnv, names: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#env = env;
    this.#names = new Map(Object.entries(names));
    this.terminal = new Terminal(folder, env);
  }

  async follow({ name, text }: DocumentedCommand): Promise<void> {
    const own = [...this.#names].reduce((words, [from, to]) => words.replaceAll(from, to), text);
    if (/^(npm start|millrace serve)/.test(name))
      return this.#serve(own, name.startsWith("npm") ? repository : this.folder);
    let asked = false;
    const { code, output } = await this.terminal.run(own, async (printed) => {
      const login = /millrace auth approve (\S+)/.exec(printed)?.[1];
      if (asked || !name.startsWith("millrace auth login") || !login) return;
      asked = true;
      await this.#approve(login);
    });
    assert.equal(code, failing.includes(name) ? 1 : 0, `${own}\n${output}`);
    // The server generates the name of a pipeline; pages show another one.
    const made = name.startsWith("millrace pipeline create") ? /^(\w+-\w+) +PAUSED/m.exec(output)?.[1] : undefined;
    if (made) for (const shown of ["river-mill", "aster-hare"]) this.#names.set(shown, made);
  }

  /** Approves the login in a second terminal, as README.md describes. */
  async #approve(code: string): Promise<void> {
    const second = new Terminal(this.folder, this.#env);
    const path = `export PATH=${join(repository, "node_modules/.bin")}:$PATH`;
    const words = `DATACHAIN_STUDIO_TOKEN=$(millrace admin token) millrace auth approve ${code}`;
    const { code: exit, output } = await second.run(`${path}\n${words}`);
    await second.close();
    assert.equal(exit, 0, output);
  }

  /** The newest server keeps running, because later commands may need it. */
  async #serve(text: string, cwd: string): Promise<void> {
    await this.#server?.close();
    const path = `${join(repository, "node_modules/.bin")}:${this.#env["PATH"]}`;
    const server = new Terminal(cwd, { ...this.#env, PATH: path });
    this.#server = server;
    let ready = () => {};
    const isReady = new Promise<void>((resolve) => {
      ready = resolve;
    });
    const ended = server.run(text, async (output) => {
      if (output.includes("Millrace is ready at")) ready();
    });
    ended.catch(() => {});
    await Promise.race([isReady, ended.then(({ output }) => assert.fail(`${text} ended:\n${output}`))]);
  }

  async close(): Promise<void> {
    await this.terminal.close();
    await this.#server?.close();
  }
}

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(DATACHAIN|MILLRACE|PYTHON|NODE|npm)_?/.test(name)),
);

async function makeRepository(folder: string): Promise<void> {
  const git = (...words: string[]) =>
    promisify(execFile)("git", ["-C", folder, "-c", "user.name=T", "-c", "user.email=t@example.org", ...words]);
  await mkdir(folder);
  await git("init", "--quiet", "--initial-branch=main");
  await git("commit", "--quiet", "--allow-empty", "-m", "one");
}

describe("the commands of the documentation", { skip: await whyNoDatachain() }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "2" });
  let folder: string;
  const readers: Reader[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-docs-"));
    await makeRepository(join(suite.shared, "repo"));
    await runJob(suite.api, python("import datachain as dc\ndc.read_values(n=[1, 2]).save('raw')\n"));
    await runJob(suite.api, python("import datachain as dc\ndc.read_dataset('raw').save('final')\n"));
    await runJob(suite.api, python("import datachain as dc\ndc.read_values(n=[1]).save('incoming')\n"));
    await suite.api.call(routes.setTeamCredentials, { body: { name: "git", values: { GIT_TOKEN: "1" } } });
  });
  after(async () => {
    for (const reader of readers) await reader.close();
    // A job outlives its server and may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  });

  /** Creates a folder with what pages assume. README.md starts its own server. */
  async function readerOf(page: string): Promise<Reader> {
    const place = join(folder, page.replaceAll(/\W/g, "-"));
    await mkdir(join(place, "backups"), { recursive: true });
    await symlink(join(repository, "node_modules"), join(place, "node_modules"));
    const files = {
      "train.py": "import pandas\nprint(open('labels.csv').read(), pandas.__version__)\n",
      "labels.csv": "a,b\n",
      "nightly.sh": "true\n",
      "fetch.py": "print(1)\n",
      "script.py": "print(1)\n",
      "etl.py": "print(1)\n",
      "aws.env": "AWS_REGION=eu\n",
      "git.env": "GIT_TOKEN=1\n",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text);
    const port = page === "README.md" ? await freePort() : suite.server.port;
    const env = {
      ...inherited,
      ...withLibrary,
      ...(page === "README.md"
        ? {
            MILLRACE_PORT: String(port),
            MILLRACE_DATA_DIR: join(place, "data"),
            MILLRACE_JOB_PATHS: `${suite.shared}:ro`,
          }
        : { DATACHAIN_STUDIO_TOKEN: suite.token, DATACHAIN_STUDIO_TEAM: "main" }),
      ...(page === "README.md" ? {} : { PATH: `${join(repository, "node_modules/.bin")}:${withLibrary.PATH}` }),
      HOME: place,
      LANG: "C.UTF-8",
      DATACHAIN_STUDIO_URL: `http://127.0.0.1:${port}`,
      DATACHAIN_NO_ANALYTICS: "1",
      PYTHONUNBUFFERED: "1",
      MILLRACE_UV: "auto",
    };
    const reader = new Reader(place, env, {
      "https://host/org/repo.git": `file://${suite.shared}/repo`,
      "https://git.example.com/org/repo.git": `file://${suite.shared}/repo`,
      "/backups": join(place, "backups"),
      "/srv/millrace-new": join(place, "new"),
      "/srv/millrace": suite.server.dataDir,
      "/tmp/rehearsal": join(place, "rehearsal"),
      "/safe/place": suite.server.dataDir,
      "8585": String(await freePort()),
    });
    readers.push(reader);
    return reader;
  }

  for (const page of pages) {
    test(`of ${page} work unchanged`, patience, async () => {
      const reader = await readerOf(page);
      for (const command of commands.filter((shown) => shown.page === page))
        if (!(command.name in notRun)) await reader.follow(command);
      await reader.close();
    });
  }
});
