import { jwsAlgorithmNames } from '../core/pat/signatures.ts';
import type { CurrentPolicy } from '../core/policy/policy.ts';

/**
 * The policy in words, and how to accept it.
 * @param isFreshRequired - whether bare signatures are rejected
 */
export function explainPolicy(
  { policy, sentences, text }: Pick<CurrentPolicy, 'policy' | 'sentences' | 'text'>,
  baseUrl: string,
  isFreshRequired: boolean,
): { data: object; text: string } {
  const howToSign = isFreshRequired ? freshSteps(baseUrl) : shellSteps(baseUrl);
  return {
    data: { policy, in_words: sentences, text_to_sign: text, how_to_sign: howToSign },
    text: [
      'The usage policy says:',
      ...sentences.map((sentence) => `- ${sentence}`),
      '',
      'To accept it, sign the text below with a private key of your own, and call accept_policy again with agent_id, agent_public_key and signed_policy.',
      'The text, without a line break at its end:',
      text,
      '',
      ...howToSign,
    ].join('\n'),
  };
}

/** The signed text is valid for this gate only, for two minutes, and once. */
const shellSteps = (baseUrl: string): string[] => [
  'With a shell (the key is made once and kept in your folder; the address must answer with the text above):',
  '(umask 077; mkdir -p ~/.intent-gate); KEY=~/.intent-gate/agent-rsa-key.pem; POLICY=$(mktemp)',
  'test -f "$KEY" || openssl genrsa -out "$KEY" 2048',
  `curl -sS --fail-with-body '${baseUrl}/api/policy' -o "$POLICY"`,
  "base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }",
  `CLAIMS='"aud":"${baseUrl}","iat":'$(date +%s)',"exp":'$(($(date +%s) + 120))',"jti":"'$(openssl rand -hex 16)'"'`,
  'SIGNED=$(echo "{\\"alg\\":\\"RS256\\",$CLAIMS}" | base64url).$(base64url < "$POLICY")',
  'echo "$SIGNED.$(printf %s "$SIGNED" | openssl dgst -sha256 -sign "$KEY" | base64url)"    # signed_policy',
  'openssl pkey -in "$KEY" -pubout | openssl base64 -A    # agent_public_key',
];

const algorithms = new Intl.ListFormat('en', { type: 'disjunction' }).format(jwsAlgorithmNames);

const freshSteps = (baseUrl: string): string[] => [
  `Sign it as a compact JWS (${algorithms}) whose payload is the text and whose header also holds iat and exp (seconds since 1970), aud "${baseUrl}", and a jti that is new each time.`,
];
