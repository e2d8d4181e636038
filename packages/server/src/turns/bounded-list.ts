/** Collects the items of an answer as JSON texts, up to the size limit of an answer. */
import { answerLimits } from "@millrace/contract";
import { nextStretch, stretchBytes } from "./large-answers.ts";

/** Largest number of bytes that a character of a string, a UTF-16 code unit, takes in UTF-8. */
const mostOfCharacter = 3;

export class BoundedList {
  readonly texts: string[] = [];
  readonly #most: number;
  /** Bytes of all items with their commas; until `#isExact`, an upper bound. */
  #bytes = 0;
  #isExact = false;
  /** Characters that were added since the event loop last ran other work. */
  #stretch = 0;

  constructor(most: number = answerLimits.bytes) {
    this.#most = most;
  }

  get length(): number {
    return this.texts.length;
  }

  /**
   * Adds an item. Returns false if the list is full and the item was not added. The first item is always added, so that
   * paging makes progress. Each time about `stretchBytes` have been added, other requests get a chance to run.
   */
  async add(text: string): Promise<boolean> {
    if (!this.#take(text)) return false;
    if (this.#stretch >= stretchBytes) await this.#pause();
    return true;
  }

  /** Adds items as `add`, until the list is full. Returns how many were added. */
  async addAll(texts: readonly string[]): Promise<number> {
    for (const [index, text] of texts.entries()) {
      if (!this.#take(text)) return index;
      if (this.#stretch >= stretchBytes) await this.#pause();
    }
    return texts.length;
  }

  #take(text: string): boolean {
    const bytes = this.#measure(text);
    if (this.texts.length > 0 && this.#bytes + bytes > this.#most) return false;
    this.#bytes += bytes;
    this.texts.push(text);
    this.#stretch += text.length;
    return true;
  }

  async #pause(): Promise<void> {
    this.#stretch = 0;
    await nextStretch();
  }

  /** Measuring a text costs as much as building it, so texts are measured only once the list may be full. */
  #measure(text: string): number {
    const atMost = mostOfCharacter * text.length + 1;
    if (!this.#isExact && this.#bytes + atMost <= this.#most) return atMost;
    if (!this.#isExact) this.#bytes = this.texts.reduce((sum, each) => sum + Buffer.byteLength(each) + 1, 0);
    this.#isExact = true;
    return Buffer.byteLength(text) + 1;
  }
}
