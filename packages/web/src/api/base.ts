/** Where the server is: the path prefix of the page, which the server writes into the page's <base>. */

/** The path prefix, without a slash at the end; empty if the server is at the root. */
export const prefix = new URL(document.baseURI).pathname.replace(/\/+$/, "");

/** Returns the URL of a path of the server, such as `/auth/account`. */
export const serverPath = (path: string) => prefix + path;
