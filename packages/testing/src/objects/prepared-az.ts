/** The dialect of Azure Blob Storage for a prepared store. */
import { access } from "node:fs/promises";
import { received } from "./answered-writes.ts";
import type { Dialect, PreparedFolder } from "./dialect.ts";

type AzConfig = {
  readonly connection_string: string;
};

const headersModule = "/usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so";

/** Returns false if this store can run here, otherwise the reason why not. */
export const whyNoPreparedAz = () =>
  access(headersModule).then(
    () => false as const,
    () => "nginx's module headers-more is not installed",
  );

export const preparedAz: Dialect<AzConfig> = {
  keysInFolder: 5000,
  config: (url) => ({
    connection_string: `DefaultEndpointsProtocol=http;AccountName=account;AccountKey=a2V5;BlobEndpoint=${url}/account;`,
  }),
  pages: ({ number, keys, next }: PreparedFolder) => {
    const blobs = keys.map(blob).join("");
    return { [`pages/${number}.xml`]: page(blobs, next), [`alone/${number}.xml`]: page(blobs, undefined) };
  },
  others: (folders) => ({ "folders.xml": page(folders.map(folder).join(""), undefined) }),
  nginx: () => ({ locations, maps, modules: `load_module ${headersModule};` }),
};

const time = "Fri, 02 Jan 2026 03:04:05 GMT";

const blob = (name: string) =>
  `<Blob><Name>${name}</Name><Properties><Creation-Time>${time}</Creation-Time><Last-Modified>${time}</Last-Modified>` +
  `<Etag>0x8DE49A1B2C3D4E5</Etag><Content-Length>1024</Content-Length>` +
  `<Content-Type>application/octet-stream</Content-Type><Content-Encoding /><Content-Language /><Content-CRC64 />` +
  `<Content-MD5>1B2M2Y8AsgTpgAmY7PhCfg==</Content-MD5><Cache-Control /><Content-Disposition />` +
  `<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>` +
  `<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted>` +
  `</Properties><OrMetadata /></Blob>`;

const folder = (prefix: string) => `<BlobPrefix><Name>${prefix}</Name></BlobPrefix>`;

const page = (blobs: string, next = "") =>
  `\uFEFF<?xml version="1.0" encoding="utf-8"?>` +
  `<EnumerationResults ServiceEndpoint="http://127.0.0.1/account/" ContainerName="bucket"><Prefix>data/</Prefix>` +
  `<Blobs>${blobs}</Blobs><NextMarker>${next}</NextMarker></EnumerationResults>`;

/** Maps a listing request to its file, and the header x-ms-range, which the vendor's clients send, to Range. */
const maps = `
  map $args $listing {
    default /pages/0000.xml;
    "~marker=page-(?<page>\\d+)" /pages/$page.xml;
    "~prefix=data%2F(?<folder>\\d+)%2F" /alone/$folder.xml;
    "~delimiter=" /folders.xml;
  }
  map $http_x_ms_range $wanted_range {
    default $http_x_ms_range;
    "" $http_range;
  }
`;

const locations = `
    location ~ ^/account/bucket/?$ {
      default_type application/xml;
      try_files $listing =404;
    }
    location /account/bucket/ {
      default_type application/octet-stream;
      add_header x-ms-blob-type BlockBlob;
      more_set_input_headers "Range: $wanted_range";
      if ($request_method ~ ^(PUT|DELETE)$) {
        ${received}
      }
      rewrite ^/account(/.*)$ $1 break;
    }
    location = /-/received {
      default_type application/xml;
      add_header ETag '"0x8DE49A1B2C3D4E5"';
      add_header Last-Modified "${time}";
      return 201 "";
    }
    types { application/xml xml; }
`;
