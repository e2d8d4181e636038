/** Collects the items of an answer as JSON texts, up to the size limit of an answer. */
import { answerLimits } from "@millrace/contract";
import { nextStretch, stretchBytes } from "./large-answers.ts";

export class BoundedList {
  readonly texts: string[] = [];
  readonly #most: number;
  #bytes = 0;
  /** Bytes that were added since the event loop last ran other work. */
  #stretch = 0;

  constructor(most: number = answerLimits.bytes) {
    this.#most = most;
  }

  get length(): number {
    return this.texts.length;
  }

  /**
   * Adds an item. Returns false if the list is full and the item was not added. The first item is always added, so that
   * paging makes progress. Each time `stretchBytes` have been added, other requests get a chance to run.
   */
  async add(text: string): Promise<boolean> {
    const bytes = Buffer.byteLength(text) + 1;
    if (this.texts.length > 0 && this.#bytes + bytes > this.#most) return false;
    this.#bytes += bytes;
    this.texts.push(text);
    this.#stretch += bytes;
    if (this.#stretch >= stretchBytes) {
      this.#stretch = 0;
      await nextStretch();
    }
    return true;
  }
}
