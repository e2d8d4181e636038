/**
 * Every statement of the documentation of remote storage, in order, with its proof: a test in this file, or the titles
 * of tests elsewhere. README.md and docs/ describe what the documentation leaves open.
 *
 * A row that names tests elsewhere does not run them. It passes if their files, loaded on this machine, register a test
 * with each title, for the parameter in question, and skip none of them; if one is skipped, the row is skipped with its
 * reason. The same run of `npm test storage` also runs those files. Whether a test really proves the statement was
 * decided by the author of the row.
 */
import assert from "node:assert/strict";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { type ClientConfig, fromStorage, openStorage, toStorage } from "@millrace/storage";
import { startAzurite } from "@millrace/testing/servers/azurite.ts";
import { startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import { startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { parameterKeys } from "../../src/configuration/parameters.ts";
import { parameters as az } from "../../src/schemes/az/parameters.ts";
import { parameters as gs } from "../../src/schemes/gs/parameters.ts";
import { parameters as hf } from "../../src/schemes/hf/parameters.ts";
import { parameters as s3 } from "../../src/schemes/s3/parameters.ts";
import { startHub, writerToken } from "../support/hub/server.ts";
import { type Answer, startRecordingServer } from "../support/recording-server.ts";
import { type RegisteredTest, registeredTests } from "../support/registered-tests.ts";
import { documentOf } from "../support/s3-documents.ts";

/** Tests in another file. */
interface Elsewhere {
  readonly file: string;
  /**
   * Complete titles of tests, prefixed with the suite if two have the same title; or the part of a title after the
   * parameter.
   */
  readonly titles: readonly string[];
  readonly parameter?: string;
}
type Proof = readonly Elsewhere[] | (() => Promise<void> | void);

const folder = join(import.meta.dirname, "..");
const cleanups: (() => unknown)[] = [];
let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-storage-documented-"));
});
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  await rm(root, { recursive: true });
});

const named = (file: string, ...titles: string[]): Elsewhere[] => [{ file, titles }];

/** Titles of parameter tests begin with parameter names: `client_id, tenant_id are exchanged for a token`. */
function isTitled({ title, path }: RegisteredTest, wanted: string, parameter: string | undefined): boolean {
  if (parameter === undefined) return title === wanted || path === wanted;
  const names = title.endsWith(` ${wanted}`) ? title.slice(0, -wanted.length - 1) : "";
  return names.split(", ").includes(parameter);
}

async function isProvenElsewhere({ file, titles, parameter }: Elsewhere): Promise<string | false> {
  const [found, ...namesakes] = await Array.fromAsync(glob(`**/${file}.test.ts`, { cwd: folder }));
  assert.ok(found !== undefined && namesakes.length === 0, `${file}.test.ts is one file`);
  const tests = await registeredTests(join(folder, found));
  assert.ok(titles.length > 0, "no test is named");
  const proofs = titles.map((title) => {
    const [found, another] = tests.filter((test) => isTitled(test, title, parameter));
    assert.ok(found, `${file}.test.ts registers no test "${title}"${parameter ? ` of ${parameter}` : ""}`);
    assert.ok(!another, `${file}.test.ts registers several tests "${title}": name the suite, too`);
    return found;
  });
  const skipped = proofs.find(({ skip }) => skip);
  return skipped ? `${file}.test.ts skips "${skipped.title}": ${skipped.skip}` : false;
}

async function prove(proof: Proof, row: TestContext): Promise<void> {
  if (typeof proof === "function") return proof();
  const skipped = (await Promise.all(proof.map(isProvenElsewhere))).find(Boolean);
  if (skipped) row.skip(skipped);
}

function walk(section: string, statements: Readonly<Record<string, Proof>>): void {
  describe(section, { timeout: 240_000 }, () => {
    for (const [statement, proof] of Object.entries(statements)) it(statement, (row) => prove(proof, row));
  });
}

interface Place {
  readonly uri: string;
  readonly client_config: ClientConfig;
}

/** A location for each documented URI form, on a real server if there is one; the hub is our own. */
const shapes: Readonly<Record<string, [skip: string | false, start: () => Promise<Place>]>> = {
  "file://<path>": [false, async () => ({ uri: `file://${await mkdtemp(join(root, "files-"))}`, client_config: {} })],
  "s3://<bucket>/<path>": [
    await whyNoVersitygw(),
    async () => {
      const server = await startVersitygw();
      cleanups.push(() => server.stop());
      const { endpoint_url, key, secret } = server.config;
      return {
        uri: `s3://${await server.makeBucket("bucket")}/some/path`,
        client_config: { endpoint_url, key, secret },
      };
    },
  ],
  "gs://<bucket>/<path>": [
    await whyNoFakeGcsServer(),
    async () => {
      const server = await startFakeGcsServer();
      cleanups.push(() => server.stop());
      const client_config = { endpoint_url: server.endpoint_url, project: "p", token: "t" };
      await openStorage("gs://bucket", client_config).createBucket();
      return { uri: "gs://bucket/some/path", client_config };
    },
  ],
  "az://<container>/<path>": [
    false,
    async () => {
      const { connection_string, stop } = await startAzurite();
      cleanups.push(stop);
      await openStorage("az://container", { connection_string }).createBucket();
      return { uri: "az://container/some/path", client_config: { connection_string } };
    },
  ],
  "hf://<dataset>": [
    false,
    async () => {
      const hub = await startHub();
      cleanups.push(() => hub.stop());
      hub.create("datasets", "team/data");
      return { uri: "hf://team/data", client_config: { endpoint: hub.url, token: writerToken } };
    },
  ],
};

describe("from_storage reads and to_storage writes, both by URI; a client_config is handed to the storage", () => {
  for (const [shape, [skip, start]] of Object.entries(shapes)) {
    it(`of the shape ${shape}`, { skip, timeout: 120_000 }, async () => {
      const { uri, client_config } = await start();
      const source = openStorage("memory://documented");
      await source.write("folder/a.txt", "hello");
      const exported = await toStorage(fromStorage("memory://documented/folder/"), uri, {
        client_config,
        placement: "filename",
      });
      assert.deepEqual(
        exported.map(({ path }) => path),
        ["a.txt"],
      );
      const [file] = await Array.fromAsync(fromStorage(`${uri}/`, { client_config }));
      assert.equal(await file?.readText(), "hello");
    });
  }
});

walk("the defaults and URIs", {
  "defaults are as written, and None is unset": named("parameters", "hold 52 parameters", "takes null for unset"),
  "every value of client_config is handed on, or refused by name": named(
    "parameters",
    "with an unknown key is refused, with a suggestion",
    "with a value of the wrong type is refused, and the value is not repeated",
  ),
  "other URIs that the file system library knows are accepted: http, memory, ftp, sftp, webdav": () => {
    for (const uri of [
      "http://h/a",
      "https://h/a",
      "memory://a",
      "ftp://h/a",
      "sftp://h/a",
      "webdav://h/a",
      "s3a://b/a",
    ]) {
      assert.equal(openStorage(uri).uri, uri);
    }
  },
});

const listsBuckets = (scheme: string) =>
  `${scheme}:// without a bucket, on a real server > lists the buckets, as folders`;

const s3Proofs: Readonly<Record<string, readonly string[]>> = {
  anon: ["sends no signature, whatever credentials there are"],
  endpoint_url: ["is the target of requests, including its path, and overrides client_kwargs and the environment"],
  key: ["is the access key id, and overrides client_kwargs and the environment"],
  secret: ["signs requests"],
  token: ["is sent with every request; a function is called for it"],
  use_ssl: ["selects TLS for the standard endpoint; client_kwargs.use_ssl overrides it"],
  s3_additional_kwargs: ["are sent with the calls that accept them, and are overridden by a call's own arguments"],
  client_kwargs: ["give region, endpoint and credentials to the client"],
  requester_pays: ["is sent with every call"],
  default_block_size: ["is the size of ranges, of read-ahead, and of parts; parts that are too small are refused"],
  default_fill_cache: ["has no effect: the original never reads it"],
  default_cache_type: ["selects the cache of opened files; null means none, an unknown one is refused"],
  version_aware: ["lists versions and reads named ones; without it a version is an error"],
  cache_regions: ["queries the region of the bucket first, once, unless a region or an endpoint is given"],
  asynchronous: ["has no effect: every call is asynchronous"],
  config_kwargs: ["limit the number of connections"],
  kwargs: ["accept a profile, which signs, and nothing else"],
  session: ["provides its credentials and its region"],
  max_concurrency: ["is the number of parallel ranges of one object"],
};

const rowsOf = (file: string, proofs: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(
    Object.entries(proofs).map(([parameter, titles]) => [
      `${parameter} has the effect that is documented`,
      [{ file, titles, parameter }],
    ]),
  );

const mebibyte = 1024 * 1024;

/** Multipart uploads whose parts wait until the given number has arrived. */
async function partsHeld(
  width: number,
  config: ClientConfig,
  write: (uri: string, config: ClientConfig) => Promise<void>,
) {
  let most = 0;
  const held: (() => void)[] = [];
  const sizes: number[] = [];
  const answer: Answer = (request, response) => {
    const { method, query, body } = request;
    if (method !== "PUT" || !query.has("partNumber"))
      return response.end(documentOf(request, query.has("uploads") ? "<UploadId>u</UploadId>" : "<ETag>e</ETag>"));
    sizes.push(body.length);
    held.push(() => response.writeHead(200, { etag: '"e"' }).end());
    most = Math.max(most, held.length);
    // Time for one too many to arrive.
    if (held.length === width) setTimeout(() => held.splice(0).map((release) => release()), 300);
  };
  const server = await startRecordingServer(answer);
  cleanups.push(() => server.stop());
  await write("s3://bucket", { endpoint_url: server.url, key: "k", secret: "s", ...config });
  return { most, sizes };
}

walk("S3-compatible storage", {
  ...rowsOf("s3-parameters", s3Proofs),
  "anon False takes key and secret, or the standard resolver": named(
    "s3-credential-chain",
    "come from the environment first",
    "come from the shared files, of the default or a named profile, with its region",
    "come from the role of the instance, through the metadata service",
  ),
  "endpoint_url, key and secret go before client_kwargs, and use_ssl of client_kwargs before use_ssl": () => {
    const weak = {
      endpoint_url: "http://weak",
      aws_access_key_id: "weak",
      aws_secret_access_key: "weak",
      use_ssl: false,
    };
    const config = {
      endpoint_url: "http://strong",
      key: "strong",
      secret: "strong",
      use_ssl: true,
      client_kwargs: weak,
    };
    const told = openStorage("s3://bucket", config, { environment: {} }).explainConfig();
    const of = (name: string) => told.find(({ key }) => key === name);
    assert.deepEqual(
      [of("endpoint_url")?.value, of("key")?.value, of("use_ssl")?.value],
      ["http://strong", "strong", false],
    );
    assert.equal(of("secret")?.source, "client_config.secret");
  },
  "the built-in block size is 5 MB, and max_concurrency parts of a file move at once": async () => {
    const { most, sizes } = await partsHeld(3, { max_concurrency: 3 }, async (uri, config) => {
      const storage = openStorage(uri, config, { environment: {} });
      await storage.write("a", Buffer.alloc(15 * mebibyte));
      await storage.close();
    });
    assert.deepEqual([most, sizes], [3, Array(3).fill(5 * mebibyte)]);
  },
  "max_concurrency is 1 unless it is said": async () => {
    const { most, sizes } = await partsHeld(1, {}, async (uri, config) => {
      const storage = openStorage(uri, config, { environment: {} });
      await storage.write("a", Buffer.alloc(6 * mebibyte));
      await storage.close();
    });
    assert.deepEqual([most, sizes], [1, [5 * mebibyte, mebibyte]]);
  },
  "with several files at once there are max_concurrency times as many connections": async () => {
    const source = openStorage("memory://documented-batch");
    for (const name of ["a", "b"]) await source.write(name, Buffer.alloc(15 * mebibyte));
    const { most } = await partsHeld(6, { max_concurrency: 3 }, async (uri, client_config) => {
      await toStorage(fromStorage("memory://documented-batch/"), uri, { client_config, concurrency: 2 });
    });
    assert.equal(most, 6);
  },
  "memory grows by a block for each part that moves": named(
    "large",
    "is written to a store from a stream of unknown length",
  ),
  "default_cache_type is readahead, and None is no cache": named(
    "random-access",
    "readahead requests one more block, keeps one buffer, and replaces it on a miss",
  ),
  "the options of the client, of its configuration and of the session each work, or are refused by name": named(
    "client-options",
    "of botocore's Config, and of aiobotocore's, are those of config_kwargs",
    "of botocore's create_client are those of client_kwargs",
    "of botocore's session are those of kwargs",
  ),
  "without a bucket the buckets are listed": named("buckets", listsBuckets("s3")),
});

const gsProofs: Readonly<Record<string, readonly string[]>> = {
  project: [
    "select the location of a new bucket",
    "is that of the default credentials if these are used, and none otherwise",
  ],
  access: ["is the scope of requested tokens"],
  token: [
    "google_default uses the default credentials, and so does an unset token",
    "may be the path of a file with credentials",
    "may be a dictionary of credentials, which are exchanged once",
  ],
  consistency: ["none checks nothing, size checks the size, md5 checks the checksum"],
  cache_timeout: ["caches listings and their metadata of objects: forever when unset, not at all at 0"],
  secure_serialize: ["warns that it is deprecated"],
  requester_pays: ["names who pays in every call: the project, or the given one"],
  session_kwargs: ["proxy is used for requests, including those for tokens"],
  endpoint_url: ["overrides STORAGE_EMULATOR_HOST, which may lack its protocol"],
  default_location: ["select the location of a new bucket"],
  version_aware: ["lists generations and reads named ones; without it a generation is an error"],
};

const azProofs: Readonly<Record<string, readonly string[]>> = {
  account_name: ["is required, unless there is a connection string or a domain without credentials"],
  account_key: ["signs, also from the environment"],
  sas_token: ["is sent in the query, with or without its question mark; if there is a key, the key signs instead"],
  request_session: ["is used for every request, and must be able to send them"],
  connection_string: ["overrides all others"],
  credential: [
    "may be a SAS token, a key, or a token provider, and overrides the others",
    "is not needed if the host of the account has a SAS token",
  ],
  blocksize: ["is the size of a block, and of a range"],
  client_id: ["are exchanged for a token, through request_session"],
  client_secret: ["are exchanged for a token, through request_session"],
  tenant_id: ["are exchanged for a token, through request_session"],
  anon: [
    "sends no credentials, unless others are given",
    "unset takes AZURE_STORAGE_ANON, otherwise the default credential chain",
  ],
  default_fill_cache: ["has no effect: the original never reads it"],
  default_cache_type: ["selects the cache of opened files: bytes by default, none for null"],
  version_aware: ["lists versions and reads named ones; without it a version is an error"],
  assume_container_exists: [
    "unset warns if the container cannot be checked, and continues",
    "false is an error, each time; true does not check",
  ],
  max_concurrency: ["unset is fsspec's batch size: from its configuration files, otherwise 128"],
  timeout: ["is sent to the server, in transfers only"],
  connection_timeout: ["ends the wait for a connection"],
  read_timeout: ["ends the wait for an answer"],
  account_host: ["is the host, while account_name still signs"],
};

walk("cloud object storage", {
  ...rowsOf("gs-wire", gsProofs),
  "project is needed to list all buckets, and overridden or ignored as token says": named(
    "buckets",
    "of gs:// needs a project, and says so; anon has none",
    listsBuckets("gs"),
  ),
  "session_kwargs are handed to the HTTP session, or refused by name": named(
    "client-options",
    "of aiohttp's ClientSession are those of session_kwargs",
  ),
});

walk("blob storage", {
  ...rowsOf("az-wire", azProofs),
  "of AZURE_STORAGE_ANON false, 0 and f are False, and anything else is True": named(
    "parameters",
    "of anon on az is false for false, 0 and f in any case, true for any other text, unset without the variable",
  ),
  "anonymous access beside a key, a signature or a principal: the document says both, and the right that is given is used":
    [{ file: "az-wire", parameter: "anon", titles: ["sends no credentials, unless others are given"] }],
  "without a container the containers are listed": named("buckets", listsBuckets("az")),
});

walk("the dataset hub", {
  "token is given, saved, or none where it is False": [
    {
      file: "hf-token",
      parameter: "token",
      titles: [
        "is the given one, before any other",
        "is otherwise the saved one: from the environment, the file that it names, or the home directory",
        "is none if it is false",
      ],
    },
  ],
  "endpoint is given, or the standard hub address": [
    {
      file: "hf-token",
      parameter: "endpoint",
      titles: ["is the given one, otherwise that of the environment"],
    },
  ],
});

walk("authentication", {
  "1. of S3: key, secret and token, the standard places, or anon": named(
    "s3-credential-chain",
    "come from a web identity, through the token service",
    "come from the role of the container",
    "that do not exist are an error that says what to do",
  ),
  "2. of gs: a token file, a token dictionary, anon, google_default": [
    { file: "gs-wire", parameter: "token", titles: ["anon sends no credentials", ...(gsProofs["token"] ?? [])] },
  ],
  "3. of az: shared key, signature, connection string, credential, service principal": [
    "account_key",
    "sas_token",
    "connection_string",
    "credential",
    "client_id",
  ].map((parameter) => ({ file: "az-wire", parameter, titles: azProofs[parameter] ?? [] })),
  "4. of the hub: a token, the saved one, or none": [
    { file: "hf-token", parameter: "token", titles: ["is none if it is false"] },
  ],
});

it("every documented parameter has a row here", () => {
  assert.deepEqual(Object.keys(s3Proofs), parameterKeys(s3));
  assert.deepEqual(Object.keys(gsProofs), parameterKeys(gs));
  assert.deepEqual(Object.keys(azProofs), parameterKeys(az));
  assert.deepEqual(parameterKeys(hf), ["token", "endpoint"]);
});

it("the files of proofs elsewhere are among those that `npm test storage` runs", async () => {
  const command = await readFile(join(folder, "../../../scripts/test.sh"), "utf8");
  assert.match(
    command,
    /^part storage run_tests \$\(find packages\/storage\/test -name "\*\.test\.ts" -not -path "\*\/long\/\*"\) /m,
  );
});
