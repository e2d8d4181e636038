/** The dialect of Google Cloud Storage (JSON API) for a prepared store. */
import { received } from "./answered-writes.ts";
import type { Dialect, PreparedFolder } from "./dialect.ts";

type GsConfig = {
  readonly endpoint_url: string;
  readonly token: "anon";
};

export const preparedGs: Dialect<GsConfig> = {
  keysInFolder: 1000,
  config: (endpoint_url) => ({ endpoint_url, token: "anon" }),
  pages: ({ number, keys, later, next: nextPageToken }: PreparedFolder) => ({
    [`pages/${number}.json`]: page({ items: keys.map((key) => resource(key, 1024)), nextPageToken }),
    [`short/${number}.json`]: shortPage({ items: keys.map(shortResource), nextPageToken }),
    [`folders/${number}.json`]: shortPage({ prefixes: later }),
  }),
  others: (_folders, big) => ({
    "none.json": page({}),
    nothing: "",
    "about/big.json": JSON.stringify(resource("big", big)),
  }),
  nginx: (big) => ({ locations: locations(big), maps: maps(big) }),
};

const page = (list: object) => JSON.stringify({ kind: "storage#objects", ...list });

/** Returns a page for clients that request only certain fields. */
const shortPage = (list: object) => JSON.stringify(list);

const time = "2026-01-02T03:04:05.678Z";
const etag = "CLjm/tz2x4kDEAE=";
const generation = "1767323045678000";

const shortResource = (name: string) => ({ name, size: "1024", etag, generation, updated: time });

const resource = (name: string, size: number) => {
  const place = `storage/v1/b/bucket/o/${encodeURIComponent(name)}`;
  return {
    kind: "storage#object",
    id: `bucket/${name}/${generation}`,
    selfLink: `https://www.googleapis.com/${place}`,
    mediaLink: `https://storage.googleapis.com/download/${place}?generation=${generation}&alt=media`,
    name,
    bucket: "bucket",
    generation,
    metageneration: "1",
    contentType: "application/octet-stream",
    storageClass: "STANDARD",
    size: String(size),
    md5Hash: "1B2M2Y8AsgTpgAmY7PhCfg==",
    crc32c: "AAAAAA==",
    etag,
    timeCreated: time,
    updated: time,
    timeStorageClassUpdated: time,
    timeFinalized: time,
  };
};

/**
 * Maps each request to its file. A listing that starts at a folder gets the page of that folder; a listing of one or
 * two keys, or of the folders within a folder, gets an empty page. An upload is complete when it has as many bytes as
 * the object `big`.
 */
const maps = (big: number) => `
  map $args $form {
    default pages;
    "~(^|&)fields=" short;
  }
  map $args $listing {
    default /$form/0000.json;
    "~pageToken=page-(?<page>\\d+)" /$form/$page.json;
    "~maxResults=[12](&|$)" /none.json;
    "~^(?=.*delimiter=).*prefix=data%2F\\d+%2F" /none.json;
    "~delimiter=.*startOffset=data%2F(?<after>\\d+)" /folders/$after.json;
    "~startOffset=data%2F(?<start>\\d+)%2F(&|$)" /$form/$start.json;
  }
  map $arg_alt $content {
    default /about/$object.json;
    media /bucket/$object;
  }
  map "$arg_upload_id $arg_uploadType" $session {
    default "";
    " resumable" "http://$http_host/upload/storage/v1/b/bucket/o?uploadType=resumable&upload_id=u";
  }
  map $http_content_range $taken {
    default "";
    "~-${big - 1}/" "";
    "~-(?<last>\\d+)/" "bytes=0-$last";
  }
`;

const locations = (big: number) => `
    location = /storage/v1/b/bucket/o {
      default_type application/json;
      try_files $listing =404;
    }
    location ~ ^(/download)?/storage/v1/b/bucket/o/(?<object>.+)$ {
      default_type application/octet-stream;
      add_header x-goog-generation ${generation};
      try_files $content =404;
    }
    location /upload/ {
      ${received}
    }
    location = /-/received {
      default_type application/json;
      add_header Location $session;
      error_page 308 /-/taken;
      if ($taken) {
        return 308;
      }
      return 200 '${JSON.stringify(resource("uploaded", big))}';
    }
    location = /-/taken {
      add_header Range $taken always;
      try_files /nothing =404;
    }
    types { application/json json; }
`;
