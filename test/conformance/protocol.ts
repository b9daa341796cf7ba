import { issuePath } from '../../client/pats.ts';
import { type Check, check } from './check.ts';
import { freshId } from './gate.ts';

export const protocolChecks: readonly Check[] = [
  check('path-unknown', '7.2', 'An unknown path is refused with 404', async (gate, expect) => {
    for (const prefix of ['', '/api']) expect.notFound(await gate.call('GET', `${prefix}/${freshId()}`));
  }),
  check('method-not-allowed', '7.2', 'An unsupported method is refused', async (gate, expect) => {
    for (const endpoint of ['DELETE /api/policy', 'PUT /api/pat/issue', 'PUT /api/intents/execute', 'DELETE /api/services']) {
      const [method = '', path = ''] = endpoint.split(' ');
      expect.refusal(await gate.call(method, path), '4xx', 'METHOD_NOT_ALLOWED');
    }
  }),
  check('media-type', '4, 7.2', 'A body with a media type other than JSON is refused', async (gate, expect) => {
    const raw = { text: '{}', mediaType: 'text/plain' };
    expect.refusal(await gate.call('POST', issuePath, { raw }), '4xx', 'UNSUPPORTED_MEDIA_TYPE');
  }),
  check('malformed-json', '4, 7.2', 'A body that is not a JSON object is refused', async (gate, expect) => {
    for (const text of ['{', '', '[]', '"text"'])
      expect.invalid(await gate.call('POST', issuePath, { raw: { text, mediaType: 'application/json' } }), text || 'nothing');
  }),
];
