/** A request of the API as a command of curl and as Python. The token is a variable; secrets of the body are left out. */
import { type PlainRequest, type Route, type RouteInput, requestOf } from "@millrace/contract";

/** Stands for values that must not be copied, such as variables of a job. */
const hidden = "***";

/** Returns the request of a call, in which fields that the API never answers are replaced. */
export function shownRequest<R extends Route>(
  place: { readonly url: string; readonly team: string | undefined },
  route: R,
  input: RouteInput<R>,
): PlainRequest {
  const request = requestOf(place, route, input);
  const fields = (route.body as { properties?: Record<string, unknown> } | undefined)?.properties ?? {};
  const isSecret = (name: string) => JSON.stringify(fields[name] ?? null).includes('"writeOnly":true');
  const body =
    request.body &&
    Object.fromEntries(
      Object.entries(request.body)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => [name, isSecret(name) && value !== "" ? hidden : value]),
    );
  return { ...request, body };
}

/** Quotes a text for a POSIX shell. */
export const shellWord = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf({ method, url, body }: PlainRequest): string {
  const parts = ["curl --fail-with-body", '-H "Authorization: Bearer $MILLRACE_TOKEN"'];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(body))}`);
  return [...parts, shellWord(url)].join(" \\\n  ");
}

export function pythonOf({ method, url, body }: PlainRequest): string {
  const json = body === undefined ? [] : [`    json=${pythonValue(body, 1)},`];
  return [
    "import os",
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    ${JSON.stringify(url)},`,
    ...json,
    `    headers={"Authorization": f"Bearer {os.environ['MILLRACE_TOKEN']}"},`,
    ")",
    "response.raise_for_status()",
    "print(response.json())",
  ].join("\n");
}

/** Writes a JSON value as Python. Escapes of JSON strings mean the same in Python. */
function pythonValue(value: unknown, depth: number): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((item) => pythonValue(item, depth)).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(depth + 1);
  const lines = Object.entries(value).map(
    ([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonValue(item, depth + 1)},`,
  );
  return lines.length === 0 ? "{}" : `{\n${lines.join("\n")}\n${"    ".repeat(depth)}}`;
}
