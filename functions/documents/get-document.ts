import { documentQuery } from '../../schemas/documents/document.ts';
import { type AdminAction, serveAdmin } from '../core/admin/for-admins.ts';
import { pack } from '../core/json/pack.ts';
import { CallFailed, type CallFailure, describeCallError } from '../core/relay/call-failure.ts';
import { checkOrigin, type EgressRules, egressRulesFromEnvironment, withOwnHost } from '../core/relay/egress.ts';
import { complaints, openFileClient } from '../core/relay/fetch-document.ts';
import { essenceOf } from '../core/relay/media-type.ts';
import { ApiError, invalidParameter } from '../core/runtime/api-error.ts';

export interface Deps {
  get: ReturnType<typeof openFileClient>;
  egress: EgressRules;
}

/** Maximum size of an answer that Lambda returns, in bytes as gzipped; it allows 6 MB in Base64. */
const maxPackedBytes = 4_400_000;

/** The most that is read of a document. */
const maxMegabytes = 20;

const reasons: Partial<Record<CallFailure, string>> = {
  ...complaints,
  deadline: 'it does not answer in time',
  answer_too_large: `it has more than ${maxMegabytes} MB`,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: neither JSON nor YAML has them
const noTextCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

const accept = 'application/json, application/yaml, */*;q=0.1';

/** `GET /api/document`: the text of a document at an address, so that the console, which may connect only to the gate, can import it. */
export const createAction =
  ({ get, egress }: Deps): AdminAction =>
  async (_admin, request) => {
    const { url } = request.query(documentQuery);
    const problems = checkOrigin(url, withOwnHost(egress, request.baseUrl));
    if (problems.length > 0) throw invalidParameter(problems.map((problem) => ({ path: '/url', problem })));
    const { status, headers, body } = await get(new URL(url), request.baseUrl, accept).catch((error: unknown) => {
      const failure = describeCallError(error, 'deadline');
      if (!(failure instanceof CallFailed)) throw failure;
      const { reason } = failure;
      throw notRead(reasons[reason] ?? 'the connection broke', { reason }, failure);
    });
    const location = headers.location && URL.parse(headers.location, url)?.href;
    if (location && location.length <= 2_048 && /^https?:/.test(location) && status >= 300 && status < 400)
      throw notRead('it redirects to details.location; give that address if you trust it', { upstream_status: status, location });
    if (status !== 200) throw notRead(`status ${status}`, { upstream_status: status });
    if (essenceOf(headers['content-type']) === 'text/html') throw notRead('it is a web page', { upstream_status: status });
    const document = decode(body);
    // their escapes would make the answer many times as large
    if (noTextCharacter.test(document)) throw notRead('it is neither JSON nor YAML', { upstream_status: status });
    const packed = await pack({ document });
    if (packed.length > maxPackedBytes) throw tooLarge();
    return { status: 200, bytes: packed, headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' } };
  };

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw notRead('it is not in UTF-8', { upstream_status: 200 });
  }
}

const tooLarge = () => notRead('it is too large; import it with the command line', { reason: 'answer_too_large' });

const notRead = (why: string, details: object, cause?: CallFailed) =>
  new ApiError('INTENT_EXECUTION_FAILED', `The address did not give a document (${why}).`, {
    details: { ...details },
    cause,
    fault: cause?.fault ?? 'upstream',
  });

const egress = egressRulesFromEnvironment();

export const handler = serveAdmin(
  createAction({ get: openFileClient({ rules: egress, maxBytes: maxMegabytes * 1024 * 1024, timeoutMs: 20_000 }), egress }),
);
