import { extname } from 'node:path';
import { entityTag } from '../core/http/response.ts';
import { type Action, serve } from '../core/http/serve.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { readAsset } from './files.ts';

const mediaTypes: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/schema+json',
};

/**
 * `GET /docs/{asset}`: a script or style sheet of the console, whose name contains a digest of its content; or the JSON schema of policy files,
 * whose name stays the same.
 */
export const createAction =
  ({ readAsset }: { readAsset(name: string): string | undefined }): Action =>
  async (request) => {
    const name = request.pathParameter('asset');
    const text = readAsset(name);
    const extension = extname(name);
    const mediaType = mediaTypes[extension];
    if (text === undefined || mediaType === undefined) {
      throw new ApiError('NOT_FOUND', 'No file has this name. Reload the page, which links to the current files.');
    }
    const caching =
      extension === '.json'
        ? { ETag: entityTag(text), 'Cache-Control': 'no-cache' }
        : { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return { status: 200, text, headers: { 'Content-Type': mediaType, ...caching } };
  };

export const handler = serve(createAction({ readAsset }));
