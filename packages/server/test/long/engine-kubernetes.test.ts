/**
 * The Kubernetes engine on a real cluster: the conformance suite, and what is special about Kubernetes. The engine has
 * only the rights of deploy/kubernetes/jobs.yaml, in a namespace that enforces the standard `restricted`.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { defaultOptions, type KubernetesOptions } from "@millrace/contract";
import { whyNoKubernetes } from "@millrace/testing/programs/kubernetes/kubernetes.ts";
import { jobsNamespace, makeNamespace } from "@millrace/testing/servers/kubernetes/jobs-namespace.ts";
import { Kubernetes, nodeName } from "@millrace/testing/servers/kubernetes/kubernetes.ts";
import { CannotStart, EngineUnreachable, type JobSpec, type Observation } from "../../src/engines/engine.ts";
import { KubernetesPlacer } from "../../src/engines/kubernetes/kubernetes-placer.ts";
import { nameOf } from "../../src/engines/kubernetes/runner-job.ts";
import { openLog } from "../../src/engines/registry.ts";
import type { Placement, Placer } from "../../src/engines/runners/placer.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { engineConformance } from "../engine/engine-conformance.ts";
import { markedProcesses } from "../engine/remote/marked-processes.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { jobSpec } from "../support/job-spec.ts";
import { type Gateway, openGateway } from "./gateway.ts";

const skip = await whyNoKubernetes();

const usual: KubernetesOptions = {
  ...(defaultOptions("kubernetes") as KubernetesOptions),
  image: "local.test/python:1",
  image_pull_policy: "Never",
  resources: { cpu: "10m", memory: "64Mi" },
};

interface Site {
  readonly cluster: Kubernetes;
  readonly server: InProcessServer;
  readonly gateway: Gateway;
  readonly placer: (options?: Partial<KubernetesOptions>) => KubernetesPlacer;
  readonly engine: (placer?: Placer) => Promise<RunnerEngine>;
}

/** Both suites share a cluster, which stops after the last test of this file. */
let shared: Promise<Site> | undefined;
const site = () => (shared ??= startSite());

async function startSite(): Promise<Site> {
  const cluster = await Kubernetes.start();
  const kubeconfig = await makeNamespace(cluster);
  const server = await startInProcess({ MILLRACE_ALLOWED_HOSTS: cluster.hostAddress });
  const gateway = await openGateway(cluster.hostAddress, Number(new URL(server.url).port));
  const placer = (options: Partial<KubernetesOptions> = {}) =>
    new KubernetesPlacer({ ...usual, ...options }, { kubeconfig });
  const engine = (chosen: Placer = placer()) =>
    RunnerEngine.open({
      isolation: "none",
      jobsDir: join(server.dataDir, "jobs"),
      runners: server.runners,
      placer: chosen,
      url: () => gateway.url,
      silenceMs: 1000,
    });
  return { cluster, server, gateway, placer, engine };
}

/** A placer whose runners wait before they do anything. */
const slowly = (seconds: string, inner: KubernetesPlacer): Placer => ({
  place: (placement: Placement) =>
    inner.place({ ...placement, runner: `import time; time.sleep(${seconds})\n${placement.runner}` }),
  list: () => inner.list(),
  ended: (keys) => inner.ended(keys),
  remove: (key) => inner.remove(key),
  close: () => inner.close(),
});

engineConformance(
  "Kubernetes",
  async () => {
    const { engine, placer } = await site();
    return {
      open: ({ claimDelay = "0" } = {}) => engine(claimDelay === "0" ? placer() : slowly(claimDelay, placer())),
      processes: (key) => markedProcesses(key, "MILLRACE_ATTEMPT").pids,
      leavesNothing: true,
      isSlow: true,
      killSupervisor: async (key) => {
        for (const pid of markedProcesses(key, "MILLRACE_RUNNER_KEY").pids) process.kill(pid, "SIGKILL");
      },
      stop: async () => {},
    };
  },
  skip,
);

describe("on Kubernetes", { skip }, () => {
  let cluster: Kubernetes;
  let placer: Site["placer"];
  let open: Site["engine"];
  let engine: RunnerEngine;
  let counter = 0;

  before(async () => {
    ({ cluster, placer, engine: open } = await site());
    engine = await open();
  });
  after(async () => {
    await engine.close();
    const { server, gateway } = await site();
    await gateway.close();
    await server.dispose();
    await cluster.stop();
  });

  const spec = (query: string, rest: Partial<JobSpec> = {}) =>
    jobSpec({ jobId: `special-${++counter}`, name: "job.sh", query, ...rest });
  const path = (kind: string, name = "") =>
    `${kind === "jobs" ? "/apis/batch/v1" : "/api/v1"}/namespaces/${jobsNamespace}/${kind}${name && `/${name}`}`;

  interface Listed {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
      readonly spec: Record<string, unknown>;
      readonly status?: { readonly containerStatuses?: readonly { readonly state: Record<string, unknown> }[] };
    }[];
  }
  const list = (kind: string) => cluster.request<Listed>("GET", path(kind));
  const podOf = async (key: string) =>
    (await list("pods")).items.find(({ metadata }) => metadata.annotations?.["millrace/attempt"] === key);

  const until = async <S extends Observation["state"]>(key: string, state: S, on = engine, seconds = 60) => {
    for (const deadline = Date.now() + seconds * 1000; ; await pause(100)) {
      const seen = await observeOne(on, key);
      if (seen.state === state) return seen as Observation & { state: S };
      assert.ok(Date.now() < deadline, `${key} is ${JSON.stringify(seen)}, not ${state}`);
    }
  };
  /** Waits until the engine says why an attempt waits. */
  const reasonOf = async (key: string, on: RunnerEngine) => {
    for (const deadline = Date.now() + 60_000; ; await pause(200)) {
      const seen = await observeOne(on, key);
      if (seen.state === "WAITING" && seen.reason !== "") return seen.reason;
      assert.ok(Date.now() < deadline, `${key} is ${JSON.stringify(seen)}`);
    }
  };
  const log = async (key: string) => {
    const source = await openLog(engine, key);
    const bytes = await source.read(0, await source.size());
    await source.close();
    return bytes.toString();
  };
  const untilSaid = async (key: string, word: string) => {
    for (const deadline = Date.now() + 60_000; !(await log(key)).includes(word); await pause(50))
      assert.ok(Date.now() < deadline, `${key} did not say ${word}`);
  };
  /** Waits until the API server answers again. After its start it refuses everything for a moment. */
  const untilReached = async () => {
    for (const deadline = Date.now() + 60_000; ; await pause(200))
      try {
        return await engine.observe([]);
      } catch (error) {
        assert.ok(error instanceof EngineUnreachable && Date.now() < deadline, String(error));
      }
  };
  /** Waits until nothing of an attempt is on the cluster. */
  const untilGone = async (key: string) => {
    for (const deadline = Date.now() + 60_000; ; await pause(200)) {
      const [jobs, pods, secrets] = await Promise.all(["jobs", "pods", "secrets"].map(list));
      const left = [jobs, pods, secrets].flatMap((kind) => kind?.items ?? []);
      if (left.every(({ metadata }) => !metadata.name.startsWith(nameOf(key)))) return;
      assert.ok(Date.now() < deadline, `something is left of ${key}`);
    }
  };

  it("runs jobs without rights: no root, no capabilities, a filtered kernel, no token, a read-only image", async () => {
    const job = spec(`id -u; id -g; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
      ls /var/run/secrets 2>&1 | grep -c kubernetes; touch /usr/x 2>&1; touch /tmp/x && echo tmp; env | grep -c KUBERNETES`);
    await engine.submit(job);
    await until(job.key, "EXITED");
    const none = "0000000000000000";
    const status = `CapEff:\t${none}\nCapBnd:\t${none}\nNoNewPrivs:\t1\nSeccomp:\t2\n`;
    const touched = "touch: cannot touch '/usr/x': Read-only file system\n";
    assert.match(await log(job.key), new RegExp(`^1000\n1000\n${status}0\n${touched}tmp\n`));
    assert.doesNotMatch(await log(job.key), /KUBERNETES_SERVICE_HOST/);
  });

  it("gives a pod what the options of the cluster say", async () => {
    const options = {
      node_selector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "gpu", operator: "Exists", effect: "NoSchedule" }],
      resources: { cpu: "20m", memory: "32Mi" },
      volumes: [{ mount_path: "/data", source: { emptyDir: { sizeLimit: "1Mi" } } }],
      work_size: "10Mi",
      user: 1234,
      annotations: { "example.test/cost-center": "7" },
    };
    const other = await open(placer(options));
    const job = spec("id -u; touch /data/x && echo data; sleep 1", { workers: 2 });
    await other.submit(job);
    await until(job.key, "RUNNING", other);
    const pod = await podOf(job.key);
    assert.ok(pod);
    const { containers, nodeSelector, tolerations } = pod.spec as Record<string, Record<string, unknown>[]>;
    assert.deepEqual(nodeSelector, options.node_selector);
    assert.deepEqual(tolerations?.[0], options.tolerations[0]);
    assert.deepEqual(containers?.[0]?.["resources"], {
      requests: { cpu: "40m", memory: "64Mi" },
      limits: { memory: "64Mi" },
    });
    assert.equal(pod.metadata.annotations?.["example.test/cost-center"], "7");
    await until(job.key, "EXITED", other);
    assert.equal(await log(job.key), "1234\ndata\n");
    await other.close();
  });

  it("says why a job waits: the image, no node, the quota of the namespace", async () => {
    const image = await open(placer({ image: "local.test/missing:1" }));
    const node = await open(placer({ node_selector: { zone: "moon" } }));
    const [noImage, noNode] = [spec("echo ran"), spec("echo ran")];
    await image.submit(noImage);
    await node.submit(noNode);
    assert.match(await reasonOf(noImage.key, image), /^Kubernetes cannot get the image: .*local\.test\/missing:1/);
    assert.match(await reasonOf(noNode.key, node), /^Kubernetes has no node for this job: 0\/1 nodes are available/);
    for (const [on, job] of [
      [image, noImage],
      [node, noNode],
    ] as const)
      assert.equal(await on.withdraw(attemptNamed(job.key)), true);
    const quota = { metadata: { name: "none" }, spec: { hard: { pods: "0" } } };
    await cluster.request(
      "POST",
      path("resourcequotas"),
      JSON.stringify({ apiVersion: "v1", kind: "ResourceQuota", ...quota }),
    );
    const noRoom = spec("echo ran");
    await engine.submit(noRoom);
    assert.match(await reasonOf(noRoom.key, engine), /FailedCreate.*(exceeded quota|status unknown for quota)/);
    await cluster.request("DELETE", path("resourcequotas", "none"));
    assert.equal(await engine.withdraw(attemptNamed(noRoom.key)), true);
    for (const { key } of [noImage, noNode, noRoom]) {
      await untilGone(key);
      assert.equal((await observeOne(engine, key)).state, "ABSENT");
      assert.match(await log(key), /^(\[millrace\] The job waits on its cluster\. Kubernetes.*\n)+$/);
    }
    await image.close();
    await node.close();
  });

  it("refuses a job that Kubernetes can never accept, with the reason", async () => {
    const wrong = await open(placer({ tolerations: [{ key: "x", operator: "Sometimes" }] }));
    await assert.rejects(
      wrong.submit(spec("echo ran")),
      (error: Error) => error instanceof CannotStart && /Kubernetes refuses this job: .*operator/.test(error.message),
    );
    const nowhere = await open(placer({ namespace: "nowhere" }));
    await assert.rejects(nowhere.submit(spec("echo ran")), EngineUnreachable, "no namespace or right costs no attempt");
    await assert.rejects(nowhere.observe([]), EngineUnreachable);
    await wrong.close();
    await nowhere.close();
  });

  it("makes one Job of two submissions of one attempt, by two servers that do not know of each other", async () => {
    const job = spec("echo ran");
    const placement: Placement = {
      key: job.key,
      runner: "pass",
      variables: { A: "b" },
      workers: 1,
      priority: 5,
      isRepeated: false,
    };
    const [first, second] = [placer(), placer()];
    const handles = await Promise.all([first.place(placement), second.place(placement)]);
    assert.equal(handles[0], handles[1]);
    const jobs = (await list("jobs")).items.filter(
      ({ metadata }) => metadata.annotations?.["millrace/attempt"] === job.key,
    );
    assert.equal(jobs.length, 1);
    await first.remove(job.key);
    await second.remove(job.key);
    await untilGone(job.key);
    await Promise.all([first.close(), second.close()]);
  });

  it("finds the Job again if the server died before it knew of it, and the job runs once", async () => {
    const job = spec("echo ran");
    const inner = placer();
    const dying: Placer = {
      place: async (placement) => {
        await inner.place(placement);
        throw new EngineUnreachable("the server died here");
      },
      list: () => inner.list(),
      remove: (key) => inner.remove(key),
      close: () => inner.close(),
    };
    const first = await open(dying);
    await assert.rejects(first.submit(job), EngineUnreachable);
    await engine.submit(job);
    assert.equal((await until(job.key, "EXITED")).exit.code, 0);
    assert.equal(await log(job.key), "ran\n");
    await first.close();
  });

  it("removes the Job, its pod and its Secret when an attempt is cleaned up", async () => {
    const job = spec("echo ran");
    await engine.submit(job);
    await until(job.key, "EXITED");
    await engine.cleanup(job.key);
    await untilGone(job.key);
    await engine.cleanup(job.key);
  });

  it("shows no secret in its objects, nor in a list of processes", async () => {
    const job = spec("echo up; sleep 100", { environment: { PASSWORD: "correct-horse-battery" } });
    await engine.submit(job);
    await untilSaid(job.key, "up");
    const [pid] = markedProcesses(job.key, "MILLRACE_RUNNER_KEY").pids;
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    const code = variables.find((line) => line.startsWith("MILLRACE_RUNNER_CODE="))?.split("=")[1] ?? "";
    assert.ok(code.length > 20);
    for (const kind of ["jobs", "pods", "events"]) {
      const shown = JSON.stringify(await list(kind));
      assert.ok(!shown.includes(code) && !shown.includes("correct-horse-battery"), `${kind} show a secret`);
    }
    for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
      const line = commandLine(name);
      assert.ok(!line.includes(code) && !line.includes("correct-horse-battery"), `${line} shows a secret`);
    }
    await engine.end(attemptNamed(job.key), "enough");
    await until(job.key, "EXITED");
  });

  it("loses nothing while the API server is away, and says that it is away", async () => {
    const job = spec("echo before; sleep 2; echo after; exit 3");
    await engine.submit(job);
    await untilSaid(job.key, "before");
    await cluster.kill("kube-apiserver");
    await assert.rejects(engine.observe([]), EngineUnreachable);
    await assert.rejects(engine.submit(spec("echo ran")), EngineUnreachable);
    await untilSaid(job.key, "after");
    await cluster.startProgram("kube-apiserver");
    await untilReached();
    assert.equal((await until(job.key, "EXITED")).exit.code, 3);
    assert.equal(await log(job.key), "before\nafter\n");
  });

  it("loses no byte of a log when the network between pod and server is cut in the middle of it", async () => {
    const { gateway } = await site();
    const job = spec("i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i; sleep 0.01; done; exit 6");
    await engine.submit(job);
    await untilSaid(job.key, "line 20");
    gateway.cut();
    await pause(5000);
    assert.equal((await observeOne(engine, job.key)).state, "RUNNING");
    gateway.mend();
    assert.equal((await until(job.key, "EXITED")).exit.code, 6);
    assert.equal(await log(job.key), [...Array(400).keys()].map((i) => `line ${i + 1}\n`).join(""));
  });

  it("gives nothing to a runner of a withdrawn attempt that comes up late", async () => {
    await cluster.kill("kube-scheduler");
    const job = spec("echo ran");
    await engine.submit(job);
    // The Job is not removed, as if the API server had been away at that moment.
    const forgetful = placer();
    const withdrawing = await open({
      place: (placement) => forgetful.place(placement),
      list: () => forgetful.list(),
      remove: async () => {},
      close: () => forgetful.close(),
    });
    assert.equal(await withdrawing.withdraw(attemptNamed(job.key)), true);
    await cluster.startProgram("kube-scheduler");
    const exitOf = async () => {
      const terminated = (await podOf(job.key))?.status?.containerStatuses?.[0]?.state["terminated"];
      return (terminated as { exitCode?: number } | undefined)?.exitCode;
    };
    for (const deadline = Date.now() + 60_000; (await exitOf()) === undefined; await pause(200))
      assert.ok(Date.now() < deadline, "the pod did not end");
    assert.equal(await exitOf(), 91);
    assert.equal(await log(job.key), "");
    assert.equal((await observeOne(engine, job.key)).state, "ABSENT");
    await withdrawing.close();
  });

  it("runs on while kubelet and containerd are killed and started again", async () => {
    const job = spec("echo before; sleep 1000");
    await engine.submit(job);
    await untilSaid(job.key, "before");
    for (const program of ["kubelet", "containerd"] as const) await cluster.kill(program);
    for (const program of ["containerd", "kubelet"] as const) await cluster.startProgram(program);
    await cluster.untilReady();
    const next = spec("echo next");
    await engine.submit(next);
    await until(next.key, "EXITED");
    assert.equal((await observeOne(engine, job.key)).state, "RUNNING");
    await engine.cancel(attemptNamed(job.key), false);
    assert.equal((await until(job.key, "EXITED")).exit.code, 143);
    assert.equal(await log(job.key), "before\n");
  });

  it("says that a job was lost because it used more memory than its limit", async () => {
    const small = await open(placer({ resources: { cpu: "10m", memory: "48Mi" } }));
    const job = spec("echo up; exec python3 -c 'x = bytearray(500_000_000)'", { queryType: "SHELL" });
    await small.submit(job);
    const killed = async () => {
      const seen = await observeOne(small, job.key);
      return seen.state === "EXITED" ? String(seen.exit.code) : seen.state === "LOST" ? seen.why : "";
    };
    for (const deadline = Date.now() + 60_000; (await killed()) === ""; await pause(200))
      assert.ok(Date.now() < deadline, "the job was not killed");
    // The kernel kills the job's process or the runner, whichever it finds first.
    assert.match(await killed(), /^137$|used more memory than its limit/);
    await small.close();
  });

  // The last test: the node does not come back.
  it("reports an attempt as lost when its node has died", async () => {
    const job = spec("echo up; sleep 1000");
    await engine.submit(job);
    await untilSaid(job.key, "up");
    await cluster.killNode();
    assert.equal((await observeOne(engine, job.key)).state, "RUNNING", "until Kubernetes says that the pod is gone");
    await cluster.request("DELETE", `/api/v1/nodes/${nodeName}`);
    assert.match((await until(job.key, "LOST", engine, 300)).why, /ended without a word/);
    assert.deepEqual(markedProcesses(job.key, "MILLRACE_ATTEMPT").pids, []);
  });
});

/** The command line of a process; empty if it has ended. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
