/** What each blob is called, in the data folder and at a URI. */

export const uploadsFolder = "files/";
export const exportsFolder = "exports/";
export const logsFolder = "logs/";
/** What says whose they are. */
export const serverFolder = "server/";

/** Spread over folders: a file system is slow with a folder of a hundred thousand files. */
export const uploadName = (id: string) => `${uploadsFolder}${id.slice(0, 2)}/${id}`;

export const exportFolder = (id: string) => `${exportsFolder}${id}/`;
export const exportName = (id: string, file: number) => `${exportFolder(id)}${file}`;

/** By the key of the attempt. */
export const logName = (key: string) => `${logsFolder}${key.slice(0, 2)}/${key}`;

/** The last part: the id of an upload, the key of an attempt. */
export const lastPart = (name: string) => name.slice(name.lastIndexOf("/") + 1);
