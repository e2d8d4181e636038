/** The result of one check of `millrace doctor`. */
export type { Finding } from "@millrace/contract";
