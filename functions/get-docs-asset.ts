import { extname } from 'node:path';
import { readAsset } from './core/documents/files.ts';
import { ApiError } from './core/http/api-error.ts';
import { type Steps, serve } from './core/http/serve.ts';

export interface Deps {
  readAsset(name: string): string | undefined;
}

const mediaTypes: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.txt': 'text/plain' };

/** `GET /docs/{asset}`: a script or a style sheet of the reference page. Its name has a digest of its content in it. */
export const createHandler =
  ({ readAsset }: Deps): Steps =>
  async (request) => {
    const name = request.pathParameter('asset');
    const text = readAsset(name);
    const mediaType = mediaTypes[extname(name)];
    if (text === undefined || mediaType === undefined) {
      throw new ApiError('NOT_FOUND', 'There is no such file. Load GET /docs again: it names the files that there are.');
    }
    return {
      status: 200,
      text,
      headers: { 'Content-Type': `${mediaType}; charset=utf-8`, 'Cache-Control': 'public, max-age=31536000, immutable' },
    };
  };

export const handler = serve(createHandler({ readAsset }));
