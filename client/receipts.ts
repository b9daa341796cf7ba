import { toBase64, toBase64Url, toHex } from './bytes.ts';
import { canonicalOf } from './canonical.ts';
import { stringifyJson } from './json.ts';

/** The claims of a receipt. */
export interface ReceiptClaims {
  /** address of the gate */
  iss: string;
  execution_id: string;
  /** when the call ended (RFC 3339) */
  time: string;
  agent_thumbprint: string;
  policy_digest: string;
  intent_digest: string;
  parameters_digest: string;
  answer_digest: string;
  /** `OK`, or the code of the error */
  outcome: string;
}

/** A receipt with everything needed to verify it, as written by `intent-gate receipt save`. */
export interface ReceiptFile {
  /** the header `Execution-Receipt`: a compact JWS */
  receipt: string;
  /** the header `Execution-Receipt-Salts` */
  salts?: string | undefined;
  /** the parameters that were sent, as JSON */
  parameters?: string | undefined;
  /** the body of the answer, byte for byte */
  answer?: string | undefined;
  /** from `/api/executions/{id}/proof`: a C2SP tlog-proof */
  proof?: string | undefined;
  /** from `/log/key`: a verifier key in signed-note format */
  log_key?: string | undefined;
  /** from `/log/jwks.json` */
  jwks?: { keys: Record<string, string>[] } | undefined;
  /** by the size of a checkpoint that was kept: the consistency proof from it to the checkpoint in `proof`, hashes in base64 */
  consistency?: Record<string, string[]> | undefined;
}

export interface ReceiptReport {
  /** the checks in order; a failed check has a `problem`, and so has a skipped one that the caller asked for */
  checks: { what: string; problem?: string; isSkipped?: true }[];
  /** whether no check has a problem */
  isValid: boolean;
  /** undefined unless the signature is valid */
  claims: ReceiptClaims | undefined;
}

/** A log's signed statement of its size and root. */
export interface Checkpoint {
  origin: string;
  size: number;
  /** base64 */
  root: string;
}

const files = new WeakMap<object, ReceiptFile>();

/**
 * The receipt of an answer of {@link IntentGate.execute}; undefined if the gate issues none. `intent-gate receipt save` adds the parts needed to verify it.
 * @param answer - the object returned by `execute`, not a copy
 */
export const receiptOf = (answer: object): ReceiptFile | undefined => files.get(answer);

export function noteReceipt<Answer>(answer: Answer, { headers, text }: { headers: Headers; text: string }, parameters: unknown): Answer {
  const receipt = headers.get('execution-receipt');
  if (receipt === null || typeof answer !== 'object' || answer === null) return answer;
  files.set(answer, { receipt, salts: headers.get('execution-receipt-salts') ?? '', parameters: stringifyJson(parameters), answer: text });
  return answer;
}

/** A failed check. */
class FailedCheck extends Error {}

/** A check that could not be made. */
class NotCompared extends FailedCheck {}

const fail = (problem: string): never => {
  throw new FailedCheck(problem);
};

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Decodes base64. Accepts only the canonical encoding, so that no character can be changed unnoticed. */
function decodeBase64(text: string, problem: string): Uint8Array<ArrayBuffer> {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    if (toBase64(bytes) === text) return bytes;
  } catch {}
  return fail(problem);
}

function decodeBase64Url(text: unknown, problem: string): Uint8Array<ArrayBuffer> {
  if (typeof text !== 'string' || !/^[\w-]*$/.test(text)) return fail(problem);
  const plain = text.replaceAll('-', '+').replaceAll('_', '/');
  return decodeBase64(plain + '='.repeat((4 - (plain.length % 4)) % 4), problem);
}

async function sha256(...parts: Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const whole = Uint8Array.from(parts.flatMap((part) => [...part]));
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
}

/** The y coordinates of the small-order points of edwards25519 in all encodings: anybody can forge signatures for these keys, and Node 20 accepts them. */
const smallOrder =
  /^(0[01](00){31}|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a|e[cde](ff){30}7f)$/;

async function isSigned(publicKey: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>, text: string): Promise<boolean> {
  if (smallOrder.test(toHex(publicKey.map((byte, at) => (at === 31 ? byte & 0x7f : byte))))) return false;
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', true, ['verify']);
  return crypto.subtle.verify('Ed25519', key, signature, utf8(text));
}

/** Reads a compact JWS of a type, signed with Ed25519 (RFC 8037). */
function openJws(jws: unknown, typ: string, name: string) {
  const [head = '', body = '', signature = '', ...more] = typeof jws === 'string' ? jws.split('.') : [];
  const read = (part: string) => {
    try {
      const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(decodeBase64Url(part, '')));
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch {}
    return fail(`The ${name} is not a compact JWS: it was changed or truncated.`);
  };
  const [header, payload] = [read(head), read(body)];
  if (more.length > 0 || header.typ !== typ || header.alg !== 'EdDSA') fail(`The ${name} is not of type ${typ}, signed with EdDSA.`);
  return {
    header,
    payload,
    verify: async (x: unknown) => {
      const problem = `The signature of the ${name} is invalid: it was changed, or signed with another key.`;
      const [key, bytes] = [decodeBase64Url(x, problem), decodeBase64Url(signature, problem)];
      if (key.length !== 32 || bytes.length !== 64 || !(await isSigned(key, bytes, `${head}.${body}`))) fail(problem);
    },
  };
}

const claimNames = [
  ...(['iss', 'execution_id', 'time', 'agent_thumbprint', 'policy_digest', 'intent_digest'] as const),
  ...(['parameters_digest', 'answer_digest', 'outcome'] as const),
];

/** Verifies the signature of a receipt, and that the gate certified the signing key. */
async function verifySignature(receipt: string, { keys }: NonNullable<ReceiptFile['jwks']>): Promise<ReceiptClaims> {
  const opened = openJws(receipt, 'execution-receipt+jwt', 'receipt');
  const certificate = openJws(opened.header.certificate, 'receipt-key+jwt', 'certificate in the receipt');
  const certifying = keys.find(({ kid }) => kid === certificate.header.kid);
  if (!certifying) return fail('The certificate in the receipt names a key that is not in jwks: it is from another gate, or was changed.');
  await certificate.verify(certifying.x);
  const { iat, exp, cnf } = certificate.payload as { iat?: unknown; exp?: unknown; cnf?: { jwk?: { x?: unknown } } };
  await opened.verify(cnf?.jwk?.x);
  const claims = opened.payload as unknown as ReceiptClaims;
  const lacking = claimNames.find((name) => typeof claims[name] !== 'string');
  if (lacking) fail(`The receipt lacks ${lacking}.`);
  const seconds = Date.parse(claims.time) / 1_000;
  if (typeof iat !== 'number' || typeof exp !== 'number' || !(seconds >= iat - 60 && seconds <= exp + 60))
    fail('The receipt was signed outside the validity period of its certificate.');
  return claims;
}

/** Reads a verifier key in signed-note format. */
async function readVerifierKey(text: string) {
  const problem = 'log_key is not an Ed25519 verifier key in signed-note format.';
  const [, origin = '', id = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)\n?$/.exec(text) ?? fail(problem);
  const key = decodeBase64(encoded, problem);
  const digest = await sha256(utf8(`${origin}\n`), key);
  if (key.length !== 33 || key[0] !== 1 || toHex(digest.subarray(0, 4)) !== id) fail(problem);
  return { origin, id, publicKey: key.slice(1) };
}

/**
 * Verifies a checkpoint (C2SP tlog-checkpoint). Ignores third-party signatures, such as those of witnesses.
 * @param logKey - the verifier key of the log
 * @throws Error saying what is invalid
 */
export async function verifyCheckpoint(note: string, logKey: string): Promise<Checkpoint> {
  const { origin, id, publicKey } = await readVerifierKey(logKey);
  const at = note.lastIndexOf('\n\n');
  const [text, signatures] = [note.slice(0, at + 1), note.slice(at + 2)];
  const [name = '', size = '', root = ''] = text.split('\n');
  if (at < 0 || !/^(0|[1-9]\d*)$/.test(size) || !Number.isSafeInteger(Number(size))) fail('The checkpoint is not a signed note of a log.');
  if (name !== origin) fail(`The checkpoint is of another log: ${JSON.stringify(name)}, and the key is of ${JSON.stringify(origin)}.`);
  if (decodeBase64(root, 'The root hash in the checkpoint is not base64.').length !== 32) fail('The root hash is not a SHA-256 hash.');
  for (const line of signatures.split('\n').slice(0, -1)) {
    const [, signer, encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    if (signer !== origin) continue;
    const bytes = decodeBase64(encoded, 'The signature of the checkpoint is not base64.');
    if (toHex(bytes.subarray(0, 4)) === id && (await isSigned(publicKey, bytes.slice(4), text)))
      return { origin, size: Number(size), root };
  }
  return fail('The checkpoint is not signed with the key of the log: it was changed, or is from another gate.');
}

const nodeHash = (left: Uint8Array, right: Uint8Array) => sha256(Uint8Array.of(1), left, right);

/** Verifies that an entry is in a log (C2SP tlog-proof; RFC 9162 section 2.1.3.2). */
async function verifyInclusion(proof: string, entry: string, logKey: string): Promise<Checkpoint> {
  const at = proof.indexOf('\n\n');
  const [format, ...lines] = proof.slice(0, at).split('\n');
  if (lines[0]?.startsWith('extra ')) lines.shift();
  const [, given] = /^index (0|[1-9]\d*)$/.exec(lines.shift() ?? '') ?? [];
  if (at < 0 || format !== 'c2sp.org/tlog-proof@v1' || given === undefined) fail('The proof is not a C2SP tlog-proof.');
  const path = lines.map((line) => decodeBase64(line, 'A hash in the proof is not base64.'));
  const checkpoint = await verifyCheckpoint(proof.slice(at + 2), logKey);
  const [index, last] = [Number(given), checkpoint.size - 1];
  if (index > last) fail('The proof is for an entry beyond the end of the log.');
  const { all } = await climb(await sha256(Uint8Array.of(0), utf8(entry)), index, last, path);
  if (all !== checkpoint.root)
    fail(
      'The proof does not lead to the root of the log: the receipt is not at this position in the log, or the receipt or the proof was changed.',
    );
  return checkpoint;
}

/**
 * Verifies that a log extends the log of an older checkpoint (RFC 9162 section 2.1.4.2).
 * @param proof - undefined if there is none; not needed if the sizes are equal or nothing was in the older log
 * @throws Error saying what is invalid, or that nothing was compared
 */
export async function verifyConsistency(older: Checkpoint, newer: Checkpoint, proof: readonly string[] | undefined): Promise<void> {
  if (older.size > newer.size)
    fail(
      `The checkpoint that was kept has ${older.size} entries, and that of the file only ${newer.size}. Save the file again; if it still has fewer, the log has lost entries: keep both.`,
    );
  if (older.size === newer.size || older.size === 0) {
    if (older.root !== (older.size === newer.size ? newer.root : toBase64(await sha256())))
      fail(`Fork: the log has signed two checkpoints of size ${older.size} with different roots. Keep both: together they prove it.`);
    return;
  }
  if (proof === undefined)
    throw new NotCompared(
      `not compared: the file has no consistency proof from ${older.size} to ${newer.size} entries. Add it with "intent-gate receipt save FILE --checkpoint KEPT".`,
    );
  const problem =
    'The consistency proof does not lead from the checkpoint that was kept to that of the file: the log was rewritten, or the proof was changed.';
  const path = proof.map((hash) => decodeBase64(hash, problem));
  let [index, last] = [older.size - 1, newer.size - 1];
  while (index % 2 === 1) [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  // the proof omits the hash of the older log if that is a complete subtree
  const first = index === 0 ? decodeBase64(older.root, problem) : (path.shift() ?? fail(problem));
  const { before, all } = await climb(first, index, last, path);
  if (before !== older.root || all !== newer.root) fail(problem);
}

/**
 * Combines the hash of a subtree with the hashes beside its way to the root, nearest first.
 * @param index - of the subtree among those of its size, of which `last` is the last
 * @returns in base64, the root of everything up to the subtree, and of everything; undefined unless the path ends at the root
 */
async function climb(first: Uint8Array, index: number, last: number, path: readonly Uint8Array[]) {
  let [before, all] = [first, first];
  for (const other of path) {
    if (last === 0) fail('The proof has more hashes than the log has levels.');
    if (index % 2 === 1 || index === last) {
      [before, all] = [await nodeHash(other, before), await nodeHash(other, all)];
      while (index % 2 === 0 && index !== 0) [index, last] = [index / 2, Math.floor(last / 2)];
    } else all = await nodeHash(all, other);
    [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  }
  return { before: toBase64(before), all: last === 0 ? toBase64(all) : undefined };
}

/** Verifies a salted digest. The length of salts is fixed, so that no salt can contain the beginning of the text. */
async function verifySalted(salts: string, at: 0 | 1, text: string, digest: string, name: string): Promise<void> {
  const problem = 'salts are not two base64url strings of 16 bytes each, separated by a dot.';
  const both = salts.split('.').map((salt) => decodeBase64Url(salt, problem));
  const salt = both.length === 2 && both.every(({ length }) => length === 16) ? both[at] : undefined;
  if (toBase64Url(await sha256(salt ?? fail(problem), utf8(text))) !== digest)
    fail(`The ${name} do not match the receipt, or the salts were changed.`);
}

export const keptCheck = 'checkpoint that was kept';

const unknownFile = 'The file is not a receipt as "intent-gate receipt save" writes it.';

/**
 * Verifies a receipt offline, without contacting the gate.
 * @param trusted - a verifier key from an independent source, and checkpoints kept from earlier
 */
export async function verifyReceipt(
  file: ReceiptFile,
  trusted: { logKey?: string | undefined; checkpoints?: readonly string[] | undefined } = {},
): Promise<ReceiptReport> {
  const checks: ReceiptReport['checks'] = [];
  const check = async <T>(what: string, given: boolean, run: () => Promise<T>): Promise<T | undefined> => {
    if (!given) return void checks.push({ what, isSkipped: true });
    try {
      const result = await run();
      checks.push({ what });
      return result;
    } catch (error) {
      const problem = error instanceof FailedCheck ? error.message : unknownFile;
      checks.push({ what, problem, ...(error instanceof NotCompared && { isSkipped: true }) });
      return undefined;
    }
  };
  const { receipt, salts = '', parameters, answer, proof, log_key, jwks } = file;
  const logKey = trusted.logKey ?? log_key;
  const claims = await check('signature of the receipt', true, async () => {
    // JavaScript would take a list of one text for the text
    if ([receipt, salts, parameters, answer, proof, log_key].some((text) => text !== undefined && typeof text !== 'string'))
      return fail(unknownFile);
    if (!jwks || !receipt) return fail('The file lacks receipt or jwks: complete it with "intent-gate receipt save".');
    return verifySignature(receipt, jwks);
  });
  await check('parameters', parameters !== undefined && claims !== undefined, async () =>
    verifySalted(salts, 0, canonicalOf(parameters ?? ''), claims?.parameters_digest ?? '', 'parameters'),
  );
  await check('answer', answer !== undefined && claims !== undefined, () =>
    verifySalted(salts, 1, answer ?? '', claims?.answer_digest ?? '', 'bytes of the answer'),
  );
  await check('key of the log', trusted.logKey !== undefined && log_key !== undefined, async () => {
    if (log_key?.trim() !== trusted.logKey?.trim()) fail('log_key in the file differs from the key that you trust.');
  });
  const checkpoint = await check('place in the log', claims !== undefined, async () => {
    if (proof === undefined || logKey === undefined) return fail('The file lacks proof or log_key.');
    const digest = toBase64Url(await sha256(utf8(receipt)));
    return verifyInclusion(proof, `${claims?.execution_id} ${digest}`, logKey);
  });
  for (const kept of trusted.checkpoints ?? [])
    await check(keptCheck, checkpoint !== undefined, async () => {
      const older = await verifyCheckpoint(kept, logKey ?? '');
      if (checkpoint) await verifyConsistency(older, checkpoint, file.consistency?.[older.size]);
    });
  return { checks, isValid: claims !== undefined && checkpoint !== undefined && checks.every(({ problem }) => !problem), claims };
}
