/**
 * Finds the processes of attempts. How to find them depends on the isolation level with which the attempt was started.
 * The level is read from the attempt's folder, because an earlier server may have started the attempt with another
 * setting.
 */

import {
  type Belonging,
  byFolder,
  byMark,
  byNamespace,
  byUser,
  type Found,
  namespaceOf,
  ProcessSearch,
} from "../processes/processes.ts";
import type { AttemptFolder } from "./attempt-folder.ts";

interface Sorted {
  /** Attempts that run in their own PID namespace. */
  readonly sandboxed: AttemptFolder[];
  /** User ids of attempts that run under their own user. */
  readonly users: Set<number>;
  /** Keys of attempts that run as the server's user. An environment variable identifies their processes. */
  readonly marked: string[];
}

export class AttemptProcesses {
  readonly #search = new ProcessSearch();
  readonly #holds: (folder: AttemptFolder) => boolean;

  /** `holds` says whether the attempt still owns its user id. After a reboot, another server may have taken that id. */
  constructor(holds: (folder: AttemptFolder) => boolean) {
    this.#holds = holds;
  }

  /** Returns the processes to which a cancellation sends SIGTERM. */
  async of(folder: AttemptFolder): Promise<number[]> {
    const info = folder.sandbox();
    if (!info) return (await this.#search.all(belonging(this.#sort([folder])))).pids;
    // The kernel reuses the number of a namespace that has ended, so check that the first process is still in it.
    if (namespaceOf(info.pid) !== info.namespace) return [];
    // The first process of the namespace only waits for the others and ignores every signal but SIGKILL.
    const { pids } = await this.#search.all(byNamespace(new Set([info.namespace])));
    return pids.filter((pid) => pid !== info.pid);
  }

  /**
   * Returns the processes that these attempts still have. Set `ended` if the main process of each attempt's script has
   * exited: a faster search is then enough.
   */
  async left(folders: readonly AttemptFolder[], ended: boolean): Promise<Found> {
    const sorted = this.#sort(folders);
    // When the first process of a PID namespace is killed, the kernel kills all others, and the first one exits last.
    const first = sorted.sandboxed.flatMap((folder) => {
      const info = folder.sandbox();
      return info && namespaceOf(info.pid) === info.namespace ? [info.pid] : [];
    });
    first.push(...folders.flatMap(waitingProcess));
    if (sorted.users.size === 0 && sorted.marked.length === 0) return { pids: first, unclear: false };
    const belongs = belonging(sorted);
    const { pids, unclear } = await (ended ? this.#search.left(belongs) : this.#search.all(belongs));
    return { pids: [...first, ...pids], unclear };
  }

  /** Returns the attempts that have their own user id but no PID namespace. */
  ofUsers(folders: readonly AttemptFolder[]): AttemptFolder[] {
    return folders.filter((folder) => hasOwnUser(folder) && this.#holds(folder) && !folder.sandbox());
  }

  /** Whether the attempt runs without a PID namespace. */
  isOpen(folder: AttemptFolder): boolean {
    return !folder.sandbox();
  }

  #sort(folders: readonly AttemptFolder[]): Sorted {
    return sort(folders.filter((folder) => !hasOwnUser(folder) || folder.sandbox() || this.#holds(folder)));
  }

  /**
   * Returns the ids of the shells that are about to start a phase of these attempts. Such a shell has the attempt's
   * folder as its working directory.
   */
  async starting(folders: readonly AttemptFolder[]): Promise<number[]> {
    return (await this.#search.all(byFolder(folders.map(({ path }) => path)))).pids;
  }
}

/** Returns the first process in the sandbox of the interpreter that waited for the attempt, if there is one left. */
function waitingProcess(folder: AttemptFolder): number[] {
  const info = folder.waitingSandbox();
  return info && namespaceOf(info.pid) === info.namespace ? [info.pid] : [];
}

function hasOwnUser(folder: AttemptFolder): boolean {
  const owner = folder.owner();
  return owner > 0 && owner !== process.getuid?.();
}

function sort(folders: readonly AttemptFolder[]): Sorted {
  const sorted: Sorted = { sandboxed: [], users: new Set(), marked: [] };
  for (const folder of folders) {
    if (folder.sandbox()) sorted.sandboxed.push(folder);
    else if (hasOwnUser(folder)) sorted.users.add(folder.owner());
    else sorted.marked.push(folder.key);
  }
  return sorted;
}

function belonging({ users, marked }: Sorted): (pid: number) => Belonging {
  const [user, mark] = [byUser(users), byMark(marked)];
  if (marked.length === 0) return user;
  return (pid) => (users.size > 0 && user(pid) === "ours" ? "ours" : mark(pid));
}
