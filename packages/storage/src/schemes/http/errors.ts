/** Converts error answers of a web server to storage errors. */
import type { ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer } from "../../http/status-errors.ts";

export const toStorageError = (answer: HttpAnswer, place: ErrorPlace): StorageError =>
  errorOfAnswer(answer, place, {}, { requestId: answer.header("x-request-id") });
