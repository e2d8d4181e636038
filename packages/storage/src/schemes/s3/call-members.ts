/** Members of `s3_additional_kwargs`: the header that each member is sent as, and the calls that accept it. */

export type CallName = "get" | "head" | "list" | "put" | "create" | "part" | "complete" | "copy" | "delete" | "make";

const customerKey = ["get", "head", "put", "create", "part", "copy"] as const;
const creation = ["put", "create", "copy"] as const;
const rights = [...creation, "make"] as const;

interface Member {
  readonly header: string;
  readonly calls: readonly CallName[];
}

const ofCreation = (header: string): Member => ({ header, calls: creation });
const ofRights = (header: string): Member => ({ header, calls: rights });

export const callMembers: Readonly<Record<string, Member>> = {
  ACL: ofRights("x-amz-acl"),
  GrantFullControl: ofRights("x-amz-grant-full-control"),
  GrantRead: ofRights("x-amz-grant-read"),
  GrantReadACP: ofRights("x-amz-grant-read-acp"),
  GrantWriteACP: ofRights("x-amz-grant-write-acp"),
  StorageClass: ofCreation("x-amz-storage-class"),
  ServerSideEncryption: ofCreation("x-amz-server-side-encryption"),
  SSEKMSKeyId: ofCreation("x-amz-server-side-encryption-aws-kms-key-id"),
  SSEKMSEncryptionContext: ofCreation("x-amz-server-side-encryption-context"),
  BucketKeyEnabled: ofCreation("x-amz-server-side-encryption-bucket-key-enabled"),
  SSECustomerAlgorithm: { header: "x-amz-server-side-encryption-customer-algorithm", calls: customerKey },
  SSECustomerKey: { header: "x-amz-server-side-encryption-customer-key", calls: customerKey },
  SSECustomerKeyMD5: { header: "x-amz-server-side-encryption-customer-key-md5", calls: customerKey },
  Tagging: ofCreation("x-amz-tagging"),
  WebsiteRedirectLocation: ofCreation("x-amz-website-redirect-location"),
  ObjectLockMode: ofCreation("x-amz-object-lock-mode"),
  ObjectLockRetainUntilDate: ofCreation("x-amz-object-lock-retain-until-date"),
  ObjectLockLegalHoldStatus: ofCreation("x-amz-object-lock-legal-hold"),
  CacheControl: ofCreation("cache-control"),
  ContentDisposition: ofCreation("content-disposition"),
  ContentEncoding: ofCreation("content-encoding"),
  ContentLanguage: ofCreation("content-language"),
  ContentType: ofCreation("content-type"),
  Expires: ofCreation("expires"),
  Metadata: ofCreation("x-amz-meta-"),
  MetadataDirective: { header: "x-amz-metadata-directive", calls: ["copy"] },
  TaggingDirective: { header: "x-amz-tagging-directive", calls: ["copy"] },
  RequestPayer: {
    header: "x-amz-request-payer",
    calls: ["get", "head", "list", "put", "create", "part", "complete", "copy", "delete"],
  },
  ExpectedBucketOwner: {
    header: "x-amz-expected-bucket-owner",
    calls: ["get", "head", "list", "put", "create", "part", "complete", "copy", "delete"],
  },
  MFA: { header: "x-amz-mfa", calls: ["delete"] },
  BypassGovernanceRetention: { header: "x-amz-bypass-governance-retention", calls: ["delete"] },
};

/** Returns the headers for the members that this call accepts. */
export function headersOfMembers(given: Readonly<Record<string, unknown>>, call: CallName): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const member = callMembers[name];
    if (!member?.calls.includes(call) || value === undefined || value === null) continue;
    if (name === "Metadata") Object.assign(headers, metadataHeaders(value as Readonly<Record<string, string>>));
    else headers[member.header] = value instanceof Date ? value.toUTCString() : String(value);
  }
  return headers;
}

export function metadataHeaders(metadata: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name.toLowerCase()}`, value]),
  );
}
