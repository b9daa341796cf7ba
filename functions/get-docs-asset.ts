import { extname } from 'node:path';
import { ApiError } from './core/api-error.ts';
import { readAsset } from './core/documents/files.ts';
import { type Action, serve } from './core/http/serve.ts';

export interface Deps {
  readAsset(name: string): string | undefined;
}

const mediaTypes: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.txt': 'text/plain' };

/** `GET /docs/{asset}`: a script or a style sheet of the reference page or the console. Its name contains a digest of its content. */
export const createAction =
  ({ readAsset }: Deps): Action =>
  async (request) => {
    const name = request.pathParameter('asset');
    const text = readAsset(name);
    const mediaType = mediaTypes[extname(name)];
    if (text === undefined || mediaType === undefined) {
      throw new ApiError('NOT_FOUND', 'There is no such file. Load the page again, which names the current files.');
    }
    return {
      status: 200,
      text,
      headers: { 'Content-Type': `${mediaType}; charset=utf-8`, 'Cache-Control': 'public, max-age=31536000, immutable' },
    };
  };

export const handler = serve(createAction({ readAsset }));
