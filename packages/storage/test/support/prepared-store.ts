/**
 * nginx with prepared pages of a listing and prepared objects, which speaks as much of S3 as clients need to list, read
 * and upload: where the client is to be the limit. It checks no signature, and keeps of an upload only the last part.
 */
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startNginx, type WebServer } from "./nginx.ts";

export interface PreparedStore extends WebServer {
  readonly bucket: string;
  readonly config: { readonly endpoint_url: string; readonly key: string; readonly secret: string };
}

export interface Preparation {
  /** Of the listing; each holds a thousand keys, which are a page. */
  readonly folders?: number;
  /** Small objects, of a kibibyte: `small/0`, `small/1` and so on. */
  readonly objects?: number;
  /** Bytes of the object `big`. */
  readonly big?: number;
}

export const keysInFolder = 1000;

const folderName = (index: number) => `data/${String(index).padStart(4, "0")}/`;

export async function startPreparedStore(preparation: Preparation): Promise<PreparedStore> {
  const server = await startNginx({ locations, maps });
  const { folders = 0, objects = 0, big = 0 } = preparation;
  await mkdir(join(server.root, "pages"), { recursive: true });
  await mkdir(join(server.root, "folders"), { recursive: true });
  await mkdir(join(server.root, "bucket/small"), { recursive: true });
  await writeFile(join(server.root, "pages/none.xml"), page("", undefined));
  for (let index = 0; index < folders; index += 1) await prepareFolder(server.root, index, folders);
  for (let index = 0; index < objects; index += 1) {
    await writeFile(join(server.root, `bucket/small/${index}`), Buffer.alloc(1024, String(index)));
  }
  await writeFile(join(server.root, "bucket/big"), "");
  await truncate(join(server.root, "bucket/big"), big);
  return { ...server, bucket: "bucket", config: { endpoint_url: server.url, key: "k", secret: "s" } };
}

/** A page of the folder's keys, and one of the folders after it. */
async function prepareFolder(root: string, index: number, folders: number): Promise<void> {
  const name = String(index).padStart(4, "0");
  const keys = Array.from({ length: keysInFolder }, (_, file) => content(`${folderName(index)}${file + 1000}.json`));
  const later = Array.from({ length: folders - index - 1 }, (_, after) => folderName(index + 1 + after));
  const prefixes = later.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`);
  const next = index + 1 < folders ? `page-${String(index + 1).padStart(4, "0")}` : undefined;
  await writeFile(join(root, `pages/${name}.xml`), page(keys.join(""), next));
  await writeFile(join(root, `folders/${name}.xml`), page(prefixes.slice(0, 1000).join(""), undefined));
}

const content = (key: string) =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>` +
  `<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><Size>1024</Size>` +
  `<StorageClass>STANDARD</StorageClass></Contents>`;

const page = (contents: string, next: string | undefined) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
  `<Name>bucket</Name><Prefix></Prefix><KeyCount>${keysInFolder}</KeyCount><MaxKeys>1000</MaxKeys>` +
  `<EncodingType>url</EncodingType><IsTruncated>${next !== undefined}</IsTruncated>` +
  `${next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`}${contents}</ListBucketResult>`;

/** A range that begins after a folder begins with its page; whoever asks for one key only is told that there is none. */
const maps = `
  map $args $listing {
    default /pages/0000.xml;
    "~continuation-token=page-(?<page>\\d+)" /pages/$page.xml;
    "~max-keys=1(&|$)" /pages/none.xml;
    "~delimiter=.*start-after=data%2F(?<after>\\d+)" /folders/$after.xml;
    "~start-after=data%2F(?<start>\\d+)%2F(&|$)" /pages/$start.xml;
  }
  map $request_method $written {
    default "";
    PUT '"e"';
  }
  map $args $posted {
    default "<CompleteMultipartUploadResult><ETag>&quot;e-1&quot;</ETag></CompleteMultipartUploadResult>";
    "~uploads" "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>";
  }
`;

const locations = `
    client_max_body_size 0;
    location ~ ^/bucket/?$ {
      default_type application/xml;
      try_files $listing =404;
    }
    location /bucket/ {
      dav_methods PUT DELETE;
      add_header ETag $written always;
      default_type application/octet-stream;
      if ($request_method = POST) {
        add_header Content-Type application/xml always;
        return 200 $posted;
      }
    }
    types { application/xml xml; }
`;
