/** Names of blobs. They are the same in the data folder and at a storage URI. */

export const uploadsFolder = "files/";
export const exportsFolder = "exports/";
export const logsFolder = "logs/";
export const packsFolder = "packs/";
/** Folder of the blob that names the owner (`ownerName`). */
export const serverFolder = "server/";
/**
 * Name of the blob that contains the id of the server that owns this storage. No other server may use the blobs in it.
 */
export const ownerName = `${serverFolder}owner`;

/**
 * Returns the blob name of an upload. Uploads are spread over subfolders, because file systems are slow with a hundred
 * thousand files in one folder.
 */
export const uploadName = (id: string) => `${uploadsFolder}${id.slice(0, 2)}/${id}`;

export const exportFolder = (id: string) => `${exportsFolder}${id}/`;
export const exportName = (id: string, file: number) => `${exportFolder(id)}${file}`;

/** Returns the blob name of an attempt's log. `key` is the attempt's key (see `attemptKey`). */
export const logName = (key: string) => `${logsFolder}${key.slice(0, 2)}/${key}`;

/**
 * Returns the blob name of a packed virtualenv. `person` is set if its jobs have secrets of that person: nobody else
 * gets it.
 */
export const packName = (team: number, person: number | null, environment: string) =>
  `${packsFolder}team-${team}/${person === null ? "all" : `person-${person}`}/${environment}`;

/** Returns the last part of a blob's name: the id of an upload, or the key of an attempt. */
export const lastPart = (name: string) => name.slice(name.lastIndexOf("/") + 1);
