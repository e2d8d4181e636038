/** The items of an answer as JSON texts, up to as many bytes as one answer holds. */
import { answerLimits } from "@millrace/contract";

export class BoundedList {
  readonly texts: string[] = [];
  readonly #most: number;
  #bytes = 0;

  constructor(most: number = answerLimits.bytes) {
    this.#most = most;
  }

  get length(): number {
    return this.texts.length;
  }

  /** False: the list is full, and the text is not in it. The first always is, so that whoever pages comes on. */
  add(text: string): boolean {
    const bytes = Buffer.byteLength(text) + 1;
    if (this.texts.length > 0 && this.#bytes + bytes > this.#most) return false;
    this.#bytes += bytes;
    this.texts.push(text);
    return true;
  }
}
