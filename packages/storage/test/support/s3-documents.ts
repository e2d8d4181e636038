/** The documents with which S3 answers, as far as our own servers need them. */
import type { Answer } from "./recording-server.ts";

/** Puts content into the root element that the answer to this request has; undefined if the answer is no document. */
export function documentOf({ method, query, headers }: Parameters<Answer>[0], content = ""): string | undefined {
  const root = rootOf(method, query, headers["x-amz-copy-source"] !== undefined);
  return root && `<${root}>${content}</${root}>`;
}

function rootOf(method: string, query: URLSearchParams, isCopy: boolean): string | undefined {
  if (query.has("uploads")) return "InitiateMultipartUploadResult";
  if (query.has("uploadId") && method === "POST") return "CompleteMultipartUploadResult";
  if (query.has("delete")) return "DeleteResult";
  if (query.has("versions")) return "ListVersionsResult";
  if (query.has("list-type")) return "ListBucketResult";
  if (isCopy) return query.has("partNumber") ? "CopyPartResult" : "CopyObjectResult";
  return undefined;
}
