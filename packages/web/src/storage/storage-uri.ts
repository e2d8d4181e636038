/** URIs of storages: their folders, and what is above them. */

/** The path of a URI below its root: `s3://`, or `file:///`. */
function split(uri: string): { root: string; parts: string[] } {
  const [, root = "", path = ""] = /^([a-z0-9]+:\/\/)(.*)$/s.exec(uri) ?? [];
  const isFile = root === "file://";
  return { root: isFile ? "file:///" : root, parts: path.split("/").filter((part) => part !== "") };
}

/** The folders from the root to this one, each with its URI. */
export function crumbsOf(uri: string): { name: string; uri: string }[] {
  const { root, parts } = split(uri);
  return [
    { name: root, uri: root },
    ...parts.map((name, depth) => ({ name, uri: root + parts.slice(0, depth + 1).join("/") })),
  ];
}

/** The URI of something in a folder. */
export const childUri = (folder: string, name: string) =>
  /^[a-z0-9]+:\/\/\/?$/.test(folder) ? folder + name : `${folder.replace(/\/+$/, "")}/${name}`;

/** A script that reads a URI. */
export const pythonStorage = (uri: string) => `import datachain as dc

chain = dc.read_storage(${JSON.stringify(uri)})
chain.show()`;
