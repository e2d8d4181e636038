/** The dialect of S3 for a prepared store. */
import { received } from "./answered-writes.ts";
import type { Dialect, PreparedFolder } from "./dialect.ts";

type S3Config = {
  readonly endpoint_url: string;
  readonly key: string;
  readonly secret: string;
};

export const preparedS3: Dialect<S3Config> = {
  keysInFolder: 1000,
  config: (endpoint_url) => ({ endpoint_url, key: "k", secret: "s" }),
  pages: ({ number, keys, later, next }: PreparedFolder) => ({
    [`pages/${number}.xml`]: page(keys.map(content).join(""), next),
    [`folders/${number}.xml`]: page(later.slice(0, 1000).map(folder).join(""), undefined),
  }),
  others: () => ({ "pages/none.xml": page("", undefined) }),
  nginx: () => ({ locations, maps }),
};

const content = (key: string) =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>` +
  `<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><Size>1024</Size>` +
  `<StorageClass>STANDARD</StorageClass></Contents>`;

const folder = (prefix: string) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`;

const page = (contents: string, next: string | undefined) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
  `<Name>bucket</Name><Prefix></Prefix><KeyCount>1000</KeyCount><MaxKeys>1000</MaxKeys>` +
  `<EncodingType>url</EncodingType><IsTruncated>${next !== undefined}</IsTruncated>` +
  `${next === undefined ? "" : `<NextContinuationToken>${next}</NextContinuationToken>`}${contents}</ListBucketResult>`;

/**
 * Maps a listing to its file: one that starts after a folder gets that folder's page; one of a single key, or of the
 * folders within a folder, is empty.
 */
const maps = `
  map $args $listing {
    default /pages/0000.xml;
    "~continuation-token=page-(?<page>\\d+)" /pages/$page.xml;
    "~max-keys=1(&|$)" /pages/none.xml;
    "~^(?=.*delimiter=).*prefix=data%2F\\d+%2F" /pages/none.xml;
    "~delimiter=.*start-after=data%2F(?<after>\\d+)" /folders/$after.xml;
    "~start-after=data%2F(?<start>\\d+)%2F(&|$)" /pages/$start.xml;
  }
  map $request_method $written {
    default "";
    PUT '"e"';
  }
  map "$request_method $args" $posted {
    default "";
    "~^POST uploads" "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>";
    "~^POST" "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><ETag>&quot;e-1&quot;</ETag></CompleteMultipartUploadResult>";
  }
`;

const locations = `
    location ~ ^/bucket/?$ {
      default_type application/xml;
      try_files $listing =404;
    }
    location /bucket/ {
      default_type application/octet-stream;
      if ($request_method ~ ^(PUT|POST|DELETE)$) {
        ${received}
      }
    }
    location = /-/received {
      default_type application/xml;
      add_header ETag $written;
      return 200 $posted;
    }
    types { application/xml xml; }
`;
