/**
 * Where credentials and the region come from when none are given. Each case is a separate process, because the vendor's
 * resolver reads the environment and caches it. The metadata and token services are our own.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

const run = promisify(execFile);

let folder: string;
let store: RecordingServer;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-storage-chain-"));
  store = await startRecordingServer((_request, response) => {
    response.writeHead(200, { etag: '"e"', "content-length": 2 }).end("ok");
  });
});
after(async () => {
  await store?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Which key signed a read in a process with only this environment, and for which region. */
async function signerWith(environment: Readonly<Record<string, string>>, config: ClientConfig = {}): Promise<string> {
  const program = `
    import { openStorage } from "@millrace/storage";
    const storage = openStorage("s3://bucket", ${JSON.stringify({ endpoint_url: store.url, ...config })});
    await storage.read("a");
    await storage.close();`;
  const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--input-type=module"];
  const env = { HOME: folder, PATH: process.env["PATH"] ?? "", AWS_EC2_METADATA_DISABLED: "true", ...environment };
  store.requests.length = 0;
  await run(process.execPath, [...words, "-e", program], { cwd: import.meta.dirname, env });
  const [, key, region] =
    /Credential=([^/]+)\/\d+\/([^/]+)\//.exec(store.requests[0]?.headers.authorization ?? "") ?? [];
  return `${key} ${region} ${store.requests[0]?.headers["x-amz-security-token"] ?? ""}`.trim();
}

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

const soon = () => new Date(Date.now() + 3_600_000).toISOString();

describe("credentials of s3:// that are not given", { timeout: 120_000 }, () => {
  it("come from the environment first", async () => {
    const environment = { AWS_ACCESS_KEY_ID: "env", AWS_SECRET_ACCESS_KEY: "s", AWS_SESSION_TOKEN: "t" };
    assert.equal(await signerWith(environment), "env us-east-1 t");
  });

  it("come from the shared files, of the default or a named profile, with its region", async () => {
    const text =
      "[default]\naws_access_key_id = plain\naws_secret_access_key = s\n[work]\naws_access_key_id = worker\n";
    const environment = {
      AWS_SHARED_CREDENTIALS_FILE: await file("credentials", `${text}aws_secret_access_key = s\n`),
      AWS_CONFIG_FILE: await file("config", "[profile work]\nregion = eu-west-2\n"),
    };
    assert.equal(await signerWith(environment), "plain us-east-1");
    assert.equal(await signerWith(environment, { kwargs: { profile: "work" } }), "worker eu-west-2");
    assert.equal(await signerWith({ ...environment, AWS_PROFILE: "work" }), "worker eu-west-2");
    const keys = { AWS_ACCESS_KEY_ID: "env", AWS_SECRET_ACCESS_KEY: "s" };
    assert.equal(
      await signerWith({ ...environment, ...keys }, { kwargs: { profile: "work" } }),
      "worker eu-west-2",
      "a profile that is named goes before keys of the environment",
    );
    const region = { ...environment, AWS_DEFAULT_REGION: "eu-east-9" };
    assert.equal(await signerWith(region, { kwargs: { profile: "work" } }), "worker eu-east-9");
  });

  it("come from a web identity, through the token service", async () => {
    const service = await startRecordingServer((_request, response) => {
      const credentials = `<AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>`;
      const result = `<Credentials>${credentials}<Expiration>${soon()}</Expiration></Credentials>`;
      response.writeHead(200, { "content-type": "text/xml" });
      response.end(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>${result}</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
    });
    const environment = {
      AWS_WEB_IDENTITY_TOKEN_FILE: await file("identity", "an identity"),
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/reader",
      AWS_ENDPOINT_URL_STS: service.url,
      AWS_REGION: "us-east-2",
    };
    assert.equal(await signerWith(environment), "web us-east-2 t");
    assert.match(service.requests[0]?.body.toString() ?? "", /WebIdentityToken=an(\+|%20)identity/);
    await service.stop();
  });

  it("come from the role of the container", async () => {
    const service = await startRecordingServer((_request, response) => {
      const role = { AccessKeyId: "container", SecretAccessKey: "s", Token: "t", Expiration: soon() };
      response.end(JSON.stringify(role));
    });
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/role` };
    assert.equal(await signerWith(environment), "container us-east-1 t");
    await service.stop();
  });

  it("come from the role of the instance, through the metadata service", async () => {
    const service = await startRecordingServer(({ method, path }, response) => {
      if (method === "PUT") return response.end("a token of the metadata service");
      if (path.endsWith("/security-credentials/")) return response.end("reader");
      const role = { AccessKeyId: "instance", SecretAccessKey: "s", Token: "t", Expiration: soon(), Code: "Success" };
      response.end(JSON.stringify(role));
    });
    const environment = { AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url };
    assert.equal(await signerWith(environment), "instance us-east-1 t");
    assert.ok(service.requests.some(({ headers }) => headers["x-aws-ec2-metadata-token"] !== undefined));
    await service.stop();
  });

  it("of an unknown profile are an error that names the profile and the files", async () => {
    const files = {
      AWS_CONFIG_FILE: await file("config-of-others", "[profile other]\nregion = eu-west-2\n"),
      AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
    };
    const named = (text: string) => new RegExp(text.replaceAll("/", "\\/").replaceAll(".", "\\."));
    const places = `${files.AWS_CONFIG_FILE} and ${files.AWS_SHARED_CREDENTIALS_FILE}`;
    const expected = named(`profile: "work" [(]set by [^)]+[)] does not exist in ${places}`);
    await assert.rejects(signerWith(files, { profile: "work" }), expected);
    await assert.rejects(signerWith({ ...files, AWS_PROFILE: "work" }), /set by environment AWS_PROFILE/);
    await assert.rejects(signerWith({}, { profile: "work" }), named(join(folder, ".aws/config and ")));
    await assert.rejects(
      signerWith(files, { profile: "other" }),
      /cannot get credentials for s3:[\s\S]*set key and secret/,
    );
  });

  it("that do not exist are an error that says what to do", async () => {
    await assert.rejects(signerWith({}), /set key and secret, or set anon to true for a public bucket/);
  });
});

describe("defaults of fsspec", () => {
  const signer = async (environment: Readonly<Record<string, string>>, config: ClientConfig = {}) => {
    store.requests.length = 0;
    const storage = openStorage("s3://bucket", { endpoint_url: store.url, ...config }, { environment });
    await storage.read("a");
    await storage.close();
    return /Credential=([^/]+)/.exec(store.requests[0]?.headers.authorization ?? "")?.[1];
  };

  it("come from FSSPEC_S3_KEY, then FSSPEC_S3, then the files of its folder, with the lowest precedence", async () => {
    const place = await mkdtemp(join(folder, "fsspec-"));
    const files = { FSSPEC_CONFIG_DIR: place };
    await writeFile(join(place, "1.ini"), "[s3]\nkey = ini\nsecret = s\nmax_concurrency = 3\n");
    assert.equal(await signer(files), "ini");
    await writeFile(join(place, "2.json"), JSON.stringify({ s3: { key: "json" }, file: { auto_mkdir: true } }));
    assert.equal(await signer(files), "json", "the last file wins");
    const all = { ...files, FSSPEC_S3: JSON.stringify({ client_kwargs: { aws_access_key_id: "variable" } }) };
    assert.equal(await signer(all), "variable");
    assert.equal(await signer({ ...all, FSSPEC_S3_KEY: "single" }), "single");
    assert.equal(await signer(all, { key: "given", secret: "s" }), "given");
    const told = openStorage("s3://bucket", {}, { environment: files }).explainConfig();
    assert.deepEqual(
      told.filter(({ key }) => key === "key" || key === "max_concurrency").map(({ value, source }) => [value, source]),
      [
        ["json", `file ${join(place, "2.json")}`],
        [3, `file ${join(place, "1.ini")}`],
      ],
    );
  });

  it("come from the folder in the home directory if no other is named", async () => {
    const home = await mkdtemp(join(folder, "home-"));
    await mkdir(join(home, ".config/fsspec"), { recursive: true });
    await writeFile(join(home, ".config/fsspec/conf.json"), JSON.stringify({ s3: { key: "home", secret: "s" } }));
    assert.equal(await signer({ HOME: home }), "home");
  });

  it("that cannot be parsed are refused, without their text", () => {
    const environment = { FSSPEC_S3: "{secret" };
    assert.throws(() => openStorage("s3://bucket", {}, { environment }), {
      code: "config",
      message: "FSSPEC_S3: expected a JSON object",
    });
  });
});
