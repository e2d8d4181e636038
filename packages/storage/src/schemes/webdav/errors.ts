/** Converts error answers of a WebDAV server to storage errors. */
import type { ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer, type Said } from "../../http/status-errors.ts";

/** HTTP status of a write whose parent folder does not exist. */
export const conflict = 409;

const locked = 423;
const noRoom = 507;

export function toStorageError(answer: HttpAnswer, place: ErrorPlace): StorageError {
  const said: Said = answer.status === locked ? { code: "permission", word: "locked by another client" } : {};
  return errorOfAnswer(answer, place, said, {
    requestId: answer.header("x-request-id"),
    ...(answer.status === noRoom ? { retryable: false } : {}),
  });
}
