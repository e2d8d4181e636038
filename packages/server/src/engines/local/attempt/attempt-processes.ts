/**
 * Processes of attempts. How one is held together is told by its folder, not by the present settings: a job may have been
 * started by a server that isolated it otherwise.
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
  /** In a namespace of its own. */
  readonly sandboxed: AttemptFolder[];
  /** As a user of its own. */
  readonly users: Set<number>;
  /** As the server's user: known by a mark in the environment. */
  readonly marked: string[];
}

export class AttemptProcesses {
  readonly #search = new ProcessSearch();
  readonly #holds: (folder: AttemptFolder) => boolean;

  /** `holds`: whether an attempt's user is its own still; after a restart of the machine another server may have got it. */
  constructor(holds: (folder: AttemptFolder) => boolean) {
    this.#holds = holds;
  }

  /** Those that a cancellation asks to end. */
  of(folder: AttemptFolder): number[] {
    const info = folder.sandbox();
    if (!info) return this.#search.all(belonging(this.#sort([folder]))).pids;
    // The kernel gives the number of a namespace that is gone to the next one.
    if (namespaceOf(info.pid) !== info.namespace) return [];
    // All but the first: it only waits for the others, and hears nothing but KILL.
    return this.#search.all(byNamespace(new Set([info.namespace]))).pids.filter((pid) => pid !== info.pid);
  }

  /** What is left of attempts; `ended`: their scripts' first processes are gone. */
  left(folders: readonly AttemptFolder[], ended: boolean): Found {
    const sorted = this.#sort(folders);
    // With the first process of a namespace the kernel ends all others, and it is not gone before they are.
    const first = sorted.sandboxed.flatMap((folder) => {
      const info = folder.sandbox();
      return info && namespaceOf(info.pid) === info.namespace ? [info.pid] : [];
    });
    if (sorted.users.size === 0 && sorted.marked.length === 0) return { pids: first, unclear: false };
    const belongs = belonging(sorted);
    const { pids, unclear } = ended ? this.#search.left(belongs) : this.#search.all(belongs);
    return { pids: [...first, ...pids], unclear };
  }

  /** Those that have a user of their own, and no namespace that holds them together. */
  ofUsers(folders: readonly AttemptFolder[]): AttemptFolder[] {
    return folders.filter((folder) => hasOwnUser(folder) && this.#holds(folder) && !folder.sandbox());
  }

  #sort(folders: readonly AttemptFolder[]): Sorted {
    return sort(folders.filter((folder) => !hasOwnUser(folder) || folder.sandbox() || this.#holds(folder)));
  }

  /** Shells of ours that are about to begin a phase of these attempts, which shows by their folder. */
  starting(folders: readonly AttemptFolder[]): number[] {
    return this.#search.all(byFolder(folders.map(({ path }) => path))).pids;
  }
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
