/** What an error answer of a web server means. */
import type { ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http.ts";
import { errorOfAnswer } from "../../http-errors.ts";

export const toStorageError = (answer: HttpAnswer, place: ErrorPlace): StorageError =>
  errorOfAnswer(answer, place, {}, { requestId: answer.header("x-request-id") });
