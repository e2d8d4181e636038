/** Text that is to travel in a header: checked before anything is sent, because stores and proxies lose or change the rest. */
import type { WriteCall } from "../backend.ts";
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import { headerName } from "./head.ts";

/** What a header brings back as it was. Spaces at its ends are dropped on the way. */
const carried = /^(?! )[\x20-\x7e]*(?<! )$/;

export const isHeaderText = (text: string) => carried.test(text);

/** What is wrong with one, for messages. */
export const headerTextRule = "a header carries printable ASCII only, and no space at either end";

/** The name stands in the message, the text does not: it may be long, or end the line. */
export function checkHeaderText(name: string, text: string, place: ErrorPlace): void {
  if (isHeaderText(text)) return;
  const advice = "encode it, with encodeURIComponent for example";
  throw new StorageError("invalid", `${describePlace(place)}: ${name}: ${headerTextRule}; ${advice}`, place);
}

/** What a store takes as the name of metadata, and how that is said. */
export interface NameRule {
  readonly pattern: RegExp;
  readonly meaning: string;
}

export const headerNames: NameRule = {
  pattern: headerName,
  meaning: "letters, digits and the signs of header names, such as - and _",
};

/** For stores that keep type and metadata in headers of their own. */
export function checkDescription({ contentType, metadata = {} }: WriteCall, rule: NameRule, place: ErrorPlace): void {
  if (contentType !== undefined) checkHeaderText("contentType", contentType, place);
  for (const [name, value] of Object.entries(metadata)) {
    checkName(name, rule, place);
    checkHeaderText(`metadata.${name}`, value, place);
  }
}

function checkName(name: string, { pattern, meaning }: NameRule, place: ErrorPlace): void {
  if (pattern.test(name)) return;
  const message = `metadata: the store takes no name ${JSON.stringify(name)}: it is to have ${meaning}`;
  throw new StorageError("invalid", `${describePlace(place)}: ${message}`, place);
}
