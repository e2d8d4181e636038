/** Kills the processes that are left of attempts. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cgroups, Group } from "../processes/cgroups.ts";
import { type Found, signalAll } from "../processes/processes.ts";
import type { AttemptFolder } from "./attempt-folder.ts";
import type { AttemptProcesses } from "./attempt-processes.ts";

/**
 * Time limit for killing processes, in milliseconds. Some processes cannot be killed, for example one that waits for a
 * dead disk.
 */
const sweepMs = 2000;

export interface SweeperOptions {
  readonly bootId: string;
  /** Undefined if control groups are not used. */
  readonly cgroups: Cgroups | undefined;
  readonly processes: AttemptProcesses;
  /**
   * Kills all processes of the attempt's user at once. Does nothing if the attempt no longer owns its user id. Returns
   * false if it may not have reached all.
   */
  readonly endUser: (folder: AttemptFolder) => Promise<boolean>;
}

export class Sweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Kills the processes of these attempts. Returns the attempts that still have some after the time limit. */
  async sweep(folders: readonly AttemptFolder[]): Promise<AttemptFolder[]> {
    const ended = folders.every((folder) => folder.exit() !== undefined);
    for (const deadline = performance.now() + sweepMs; ; ) {
      const alive = await this.#endUsers(folders);
      const { pids, unclear } = await this.#left(folders, ended);
      if (pids.length === 0 && alive.length === 0 && !unclear) return [];
      if (performance.now() > deadline) {
        const left = new Set(alive);
        for (const folder of folders) if ((await this.#left([folder], ended)).pids.length > 0) left.add(folder);
        return [...left];
      }
      signalAll(pids, "SIGKILL");
      // A killed process disappears once its memory is freed. The next round finds processes that were forked meanwhile.
      await sleep(pids.length === 0 ? 1 : 5);
    }
  }

  /**
   * Kills all processes of the attempts' user ids at once. A list of processes would miss processes that fork and exit
   * while the list is read. Returns the attempts that may still have processes.
   */
  async #endUsers(folders: readonly AttemptFolder[]): Promise<AttemptFolder[]> {
    const { bootId, cgroups, processes, endUser } = this.#options;
    const isEmpty = (folder: AttemptFolder) => {
      const group = folder.group();
      return group && cgroups?.isEmpty(group);
    };
    // No process of an earlier boot can be left.
    const unsure = processes
      .ofUsers(folders)
      .filter((folder) => folder.supervisor()?.bootId === bootId && isEmpty(folder) !== true);
    const reached = new Set<AttemptFolder>();
    for (const folder of unsure) {
      if (await endUser(folder)) reached.add(folder);
      const group = folder.group();
      // Also kill processes in the control group that have not switched to the user id yet.
      if (group) signalAll(cgroups?.pids(group) ?? [], "SIGKILL");
    }
    return unsure.filter((folder) => isEmpty(folder) === false || (!reached.has(folder) && isEmpty(folder) !== true));
  }

  async #left(folders: readonly AttemptFolder[], ended: boolean): Promise<Found> {
    const { processes } = this.#options;
    const { pids, unclear } = await processes.left(ended ? this.#notEmptied(folders) : folders, ended);
    // After the kill of a supervisor, a shell may still start a phase. A sandbox that failed to start may wait forever.
    const unsure = ended ? folders.filter((folder) => folder.hasHalfSandbox()) : folders;
    return { pids: unsure.length === 0 ? pids : [...pids, ...(await processes.starting(unsure))], unclear };
  }

  /**
   * Leaves out attempts without a PID namespace whose control group has no process: every process that they started is
   * in it. To look at all processes of the machine costs more than the rest of the end of a short job, and other jobs
   * may have thousands.
   */
  #notEmptied(folders: readonly AttemptFolder[]): readonly AttemptFolder[] {
    const { cgroups, processes } = this.#options;
    if (!cgroups) return folders;
    return folders.filter((folder) => {
      const group = processes.isOpen(folder) ? folder.group() : undefined;
      return !group || cgroups.isEmpty(group) !== true;
    });
  }

  /** Kills the processes of a control group that belongs to no attempt, and releases the group. */
  async empty(group: Group): Promise<void> {
    const { cgroups } = this.#options;
    for (const deadline = performance.now() + sweepMs; performance.now() < deadline; await sleep(5)) {
      const pids = cgroups?.pids(group) ?? [];
      if (pids.length === 0) break;
      signalAll(pids, "SIGKILL");
    }
    cgroups?.give(group);
  }
}
