/** Checks text for headers before it is sent, because stores and proxies drop or change unusual characters. */
import type { WriteCall } from "../backend.ts";
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";
import { headerName } from "./head.ts";

/** Matches text that arrives unchanged in a header. Spaces at either end would be dropped on the way. */
const carried = /^(?! )[\x20-\x7e]*(?<! )$/;

export const isHeaderText = (text: string) => carried.test(text);

/** The rule for header text, as error messages state it. */
export const headerTextRule = "a header takes only printable ASCII, without a space at either end";

/**
 * Throws if the text would not arrive unchanged in a header. The error contains the name but not the text, because the
 * text may be long or contain line ends.
 */
export function checkHeaderText(name: string, text: string, place: ErrorPlace): void {
  if (isHeaderText(text)) return;
  const advice = "encode the text, for example with encodeURIComponent";
  throw new StorageError(
    "invalid",
    `${describePlace(place)}: ${name}: this text cannot be sent, because ${headerTextRule}; ${advice}`,
    place,
  );
}

/** A store's rule for metadata names, as a pattern and in words. */
export interface NameRule {
  readonly pattern: RegExp;
  readonly meaning: string;
}

export const headerNames: NameRule = {
  pattern: headerName,
  meaning: "letters, digits and characters of header names, such as - and _",
};

/** Checks content type and metadata for stores that keep them in headers. */
export function checkDescription({ contentType, metadata = {} }: WriteCall, rule: NameRule, place: ErrorPlace): void {
  if (contentType !== undefined) checkHeaderText("contentType", contentType, place);
  for (const [name, value] of Object.entries(metadata)) {
    checkName(name, rule, place);
    checkHeaderText(`metadata.${name}`, value, place);
  }
}

function checkName(name: string, { pattern, meaning }: NameRule, place: ErrorPlace): void {
  if (pattern.test(name)) return;
  const message = `metadata: the name ${JSON.stringify(name)} is not allowed: use ${meaning}`;
  throw new StorageError("invalid", `${describePlace(place)}: ${message}`, place);
}
