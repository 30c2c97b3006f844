// An object store that takes everything and keeps nothing but sizes: what an export costs without one.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** @returns its address, and `stop` */
export async function startDiscardingStore() {
  const uploads = new Map();
  const objects = new Map();
  let number = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    const hash = createHash('md5');
    let bytes = 0;
    const reading = request.method === 'PUT';
    request.on('data', (chunk) => {
      bytes += chunk.length;
      if (!reading) hash.update(chunk);
    });
    request.on('end', () => {
      const mark = Object.entries(request.headers).filter(([name]) => name.startsWith('x-amz-meta-'));
      const xml = (text) =>
        response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`);
      if (request.method === 'POST' && searchParams.has('uploads')) {
        const id = String(++number);
        uploads.set(id, { bytes: 0, mark });
        return xml(
          `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
        );
      }
      const upload = uploads.get(searchParams.get('uploadId'));
      if (request.method === 'PUT' && upload) {
        upload.bytes += bytes;
        return response.writeHead(200, { etag: `"${'0'.repeat(32)}"` }).end();
      }
      if (request.method === 'POST' && upload) {
        objects.set(pathname, upload);
        return xml(
          `<CompleteMultipartUploadResult><ETag>"${'0'.repeat(32)}-1"</ETag></CompleteMultipartUploadResult>`,
        );
      }
      if (request.method === 'PUT') {
        objects.set(pathname, { bytes, mark });
        return response.writeHead(200, { etag: `"${'0'.repeat(32)}"` }).end();
      }
      const found = objects.get(pathname);
      if (request.method === 'HEAD' && found)
        return response
          .writeHead(200, {
            ...Object.fromEntries(found.mark),
            'content-length': found.bytes,
            'last-modified': new Date().toUTCString(),
            etag: `"${'0'.repeat(32)}-1"`,
          })
          .end();
      return response.writeHead(request.method === 'DELETE' ? 204 : 404).end();
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    endpoint: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
