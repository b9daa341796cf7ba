import { checkInvalid, checkRefusal } from './answers.ts';
import { type Check, inEach } from './check.ts';

export const protocolChecks: readonly Check[] = [
  {
    id: 'path-unknown',
    clause: '7.2',
    title: 'A path that no endpoint has is 404',
    run: ({ call, freshId }) =>
      inEach(['', '/api'], async (prefix) => checkRefusal(await call('GET', `${prefix}/${freshId()}`), 404, 'NOT_FOUND')),
  },
  {
    id: 'method-not-allowed',
    clause: '7.2',
    title: 'A method that an endpoint does not have is refused',
    run: ({ call }) =>
      inEach(
        [
          ['DELETE', '/api/policy'],
          ['PUT', '/api/pat/issue'],
          ['PUT', '/api/intents/execute'],
          ['DELETE', '/api/services'],
        ] as const,
        async ([method, path]) => checkRefusal(await call(method, path), '4xx', 'METHOD_NOT_ALLOWED'),
      ),
  },
  {
    id: 'media-type',
    clause: '4, 7.2',
    title: 'A body of another media type than JSON is refused',
    run: async ({ call }) =>
      checkRefusal(await call('POST', '/api/pat/issue', { raw: { text: '{}', mediaType: 'text/plain' } }), '4xx', 'UNSUPPORTED_MEDIA_TYPE'),
  },
  {
    id: 'malformed-json',
    clause: '4, 7.2',
    title: 'A body that is not JSON, or no object, is refused',
    run: ({ call }) =>
      checkInvalid(
        ['{', '', '[]', '"text"'],
        (text) => call('POST', '/api/pat/issue', { raw: { text, mediaType: 'application/json' } }),
        (text) => text || 'nothing',
      ),
  },
];
