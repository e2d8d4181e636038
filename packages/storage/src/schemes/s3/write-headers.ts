/** Builds the headers of a write. */
import type { WriteCall } from "../../backend.ts";
import type { ErrorPlace } from "../../errors.ts";
import { checkDescription, headerNames } from "../../http/header-text.ts";
import { metadataHeaders } from "./call-members.ts";

export function headersOf(call: WriteCall, place: ErrorPlace): Record<string, string> {
  checkDescription(call, headerNames, place);
  const headers = metadataHeaders(call.metadata);
  if (call.contentType !== undefined) headers["content-type"] = call.contentType;
  return headers;
}

export function conditionsOf(call: WriteCall): Record<string, string> {
  if (call.ifNoneMatch !== undefined) return { "if-none-match": call.ifNoneMatch };
  return call.ifMatch === undefined ? {} : { "if-match": `"${call.ifMatch}"` };
}
