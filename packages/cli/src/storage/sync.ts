/**
 * Makes one folder equal to another. Runs a dry run first if the user must confirm removals, or if the progress bar
 * needs the number and size of all files to copy.
 */
import type { SyncAction, SyncOptions } from "@millrace/storage";
import type { Output } from "../output.ts";
import { type Copy, syncFrom } from "./copy.ts";
import { TransferProgress } from "./progress.ts";
import type { StorageSession } from "./with-storage.ts";

export interface SyncWishes {
  readonly delete: boolean;
  readonly "dry-run": boolean;
  readonly yes: boolean;
}

/** Returns the actions of the sync. In a dry run, these are the actions that would be taken. */
export async function syncFolders(
  session: StorageSession,
  copy: Copy,
  wishes: SyncWishes,
  output: Output,
): Promise<SyncAction[]> {
  const run = async (options: SyncOptions, onAction: (action: SyncAction) => void = () => {}) => {
    const actions: SyncAction[] = [];
    const note = (action: SyncAction) => {
      actions.push(action);
      onAction(action);
    };
    await syncFrom(session, copy, { remove: wishes.delete, ...options, onAction: note });
    return actions;
  };
  const plan = wishes.delete || wishes["dry-run"] || output.showsProgress ? await run({ dryRun: true }) : [];
  if (wishes["dry-run"]) return plan;
  if (!wishes.yes) await confirmRemovals(plan, copy.to, session.signal);
  const copies = plan.filter(({ kind }) => kind === "copy");
  const total = { files: copies.length, bytes: copies.reduce((sum, { size }) => sum + size, 0) };
  const progress = new TransferProgress(output, plan.length > 0 ? total : undefined);
  const ended = ({ kind }: SyncAction) => void (kind === "copy" && progress.ended());
  return run({ onBytes: (bytes) => progress.moved(bytes) }, ended);
}

async function confirmRemovals(plan: readonly SyncAction[], to: string, signal: AbortSignal): Promise<void> {
  const removals = plan.filter(({ kind }) => kind === "remove").length;
  if (removals === 0) return;
  const { askToProceed } = await import("../prompt.ts");
  await askToProceed(`${removals} files of ${to} would be removed.`, { signal, hasDryRun: true });
}
