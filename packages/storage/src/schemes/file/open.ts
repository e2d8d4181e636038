/** The backend of `file://`. A key is an absolute path. */
import type { Backend } from "../../backend.ts";
import { copyFile, moveFile, removeFile, removeTree } from "./change.ts";
import { listFiles } from "./list.ts";
import { checkPath } from "./path.ts";
import { readFile, statFile } from "./read.ts";
import { beginUpload, putFile } from "./write.ts";

const mebibyte = 1024 * 1024;

export function open(): Backend {
  return {
    transfer: {
      partSize: mebibyte,
      minimumPart: 1,
      maximumParts: Number.POSITIVE_INFINITY,
      wholeUpTo: 8 * mebibyte,
      concurrency: 1,
      partsInOrder: true,
      retry: { attempts: 1, firstPause: 0, growth: 1, longestPause: 0 },
    },
    list: listFiles,
    stat: statFile,
    read: readFile,
    put: putFile,
    upload: beginUpload,
    localPath: checkPath,
    copy: copyFile,
    move: moveFile,
    remove: removeFile,
    removeTree,
    close: async () => {},
  };
}
