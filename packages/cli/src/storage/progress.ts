/** Shows the progress of a transfer as a bar, on a terminal. */
import { sizeText } from "../job/view.ts";
import type { Output } from "../output.ts";

const every = 100;
const width = 24;

export interface Amount {
  readonly files: number;
  readonly bytes: number;
}

export class TransferProgress {
  readonly #output: Output;
  readonly #total: Amount | undefined;
  #files = 0;
  #bytes = 0;
  #told = 0;

  /** If `total` is not given, shows only the amount that is done, without a bar. */
  constructor(output: Output, total?: Amount) {
    this.#output = output;
    this.#total = total;
  }

  get done(): Amount {
    return { files: this.#files, bytes: this.#bytes };
  }

  moved(bytes: number): void {
    this.#bytes += bytes;
    this.#tell();
  }

  ended(): void {
    this.#files += 1;
    this.#tell();
  }

  #tell(): void {
    if (!this.#output.showsProgress || Date.now() - this.#told < every) return;
    this.#told = Date.now();
    this.#output.progress(progressText(this.done, this.#total));
  }
}

export function progressText(done: Amount, total: Amount | undefined): string {
  if (!total) return `${sizeText(done.bytes)}, ${done.files} files`;
  // A file may have grown since the total was counted; the bar still ends at 100 %.
  const share = total.bytes === 0 ? 1 : Math.min(1, done.bytes / total.bytes);
  const filled = Math.round(share * width);
  const bar = `[${"#".repeat(filled)}${" ".repeat(width - filled)}]`;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `${bar}${percent}  ${sizeText(done.bytes)} of ${sizeText(total.bytes)}, ${done.files} of ${total.files} files`;
}
