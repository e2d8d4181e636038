/** The items of an answer as JSON texts, up to as many bytes as one answer holds. */
import { answerLimits } from "@millrace/contract";
import { nextStretch, stretchBytes } from "./large-answers.ts";

export class BoundedList {
  readonly texts: string[] = [];
  readonly #most: number;
  #bytes = 0;
  /** Of these, since the last stretch began. */
  #stretch = 0;

  constructor(most: number = answerLimits.bytes) {
    this.#most = most;
  }

  get length(): number {
    return this.texts.length;
  }

  /**
   * False: the list is full, and the text is not in it. The first always is, so that whoever pages comes on. What has
   * grown by a stretch waits for its turn.
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
