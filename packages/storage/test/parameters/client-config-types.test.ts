/**
 * Parameters typed by the scheme of the URI. The compiler is the test: if the line after a `@ts-expect-error` compiles,
 * `npm run check` fails. The same values are also checked at run time here.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ClientConfig,
  type ClientConfigFor,
  fromStorage,
  openStorage,
  StorageError,
  toStorage,
} from "../../src/index.ts";

const refused = (open: () => unknown) => assert.throws(open, StorageError);

describe("a client_config", () => {
  it("with a misspelt parameter does not compile, for every known scheme", () => {
    // @ts-expect-error endpoint_url
    refused(() => openStorage("s3://bucket", { endpoint_ulr: "http://127.0.0.1:1" }));
    // @ts-expect-error anon
    refused(() => openStorage("s3a://bucket/prefix", { anonymous: true }));
    // @ts-expect-error project
    refused(() => openStorage("gs://bucket", { projekt: "p" }));
    // @ts-expect-error account_name
    refused(() => openStorage("az://container", { acount_name: "a", account_key: "aGVsbG8=" }));
    // @ts-expect-error token
    refused(() => openStorage("hf://datasets/a/b", { tokn: "t" }));
    // @ts-expect-error username
    refused(() => openStorage("sftp://host/path", { usernam: "u" }));
    // @ts-expect-error there is none
    refused(() => openStorage("memory://x", { anything: 1 }));
  });

  it("is typed in the same way for fromStorage and toStorage", async () => {
    // @ts-expect-error key
    await assert.rejects(async () => Array.fromAsync(fromStorage("s3://bucket/a", { client_config: { kee: "k" } })));
    // @ts-expect-error key
    await assert.rejects(toStorage([], "s3://bucket", { client_config: { kee: "k" } }), StorageError);
  });

  it("with a value of another type does not compile", () => {
    // @ts-expect-error a boolean
    refused(() => openStorage("s3://bucket", { anon: "perhaps" }));
    // @ts-expect-error a dict
    refused(() => openStorage("s3://bucket", { client_kwargs: "eu-central-1" }));
  });

  it("accepts each parameter by all its names, members of dicts, null and undefined", () => {
    openStorage("s3://bucket", { aws_key: "k", aws_secret: "s", aws_endpoint_url: "http://127.0.0.1:1", token: null });
    openStorage("s3://bucket", {
      key: "k",
      secret: "s",
      endpoint_url: undefined,
      client_kwargs: { region_name: "eu" },
      config_kwargs: { retries: { max_attempts: 1 } },
    });
    const bucket: string = "bucket";
    // @ts-expect-error also where the rest of the URI is known only at run time
    refused(() => openStorage(`s3://${bucket}/prefix`, { kee: "k" }));
  });

  it("is checked only at run time if the scheme is not known before, or if it contains another one", () => {
    const uri: string = "s3://bucket";
    refused(() => openStorage(uri, { kee: "k" }));
    const config: ClientConfig = { kee: "k" };
    refused(() => openStorage(uri, config));
    const chained: ClientConfigFor<"zip://a.zip::s3://bucket/a.zip"> = { s3: { anon: true } };
    openStorage("zip://a::s3://bucket/a.zip", chained);
  });
});
