export interface GateAddress {
  protocol: string;
  baseUrl: string;
  isSignInOffered: boolean;
}

/** The links of this gate in `agents.json`. */
export const ownLinks = ({ protocol, baseUrl, isSignInOffered }: GateAddress): Record<string, string> => ({
  [`${protocol}-pat-issue`]: `${baseUrl}/api/pat/issue`,
  'service-desc': `${baseUrl}/openapi.json`,
  mcp: `${baseUrl}/mcp`,
  ...(isSignInOffered && { 'mcp-sign-in': `${baseUrl}/mcp/sign-in` }),
});

/** A link set (RFC 9264) of the API's descriptions, with the relations of RFC 8631 and RFC 9727. */
export const apiCatalog = ({ baseUrl, isSignInOffered }: GateAddress): object => ({
  linkset: [
    {
      anchor: `${baseUrl}/api`,
      'service-desc': [{ href: `${baseUrl}/openapi.json`, type: 'application/json' }],
      'service-doc': [{ href: `${baseUrl}/docs`, type: 'text/html' }],
      'service-meta': [
        { href: `${baseUrl}/agents.json`, type: 'application/json' },
        { href: `${baseUrl}/llms.txt`, type: 'text/plain' },
      ],
      status: [{ href: `${baseUrl}/health`, type: 'application/json' }],
      'terms-of-service': [{ href: `${baseUrl}/api/policy`, type: 'application/json' }],
    },
    ...[`${baseUrl}/mcp`, ...(isSignInOffered ? [`${baseUrl}/mcp/sign-in`] : [])].map((anchor) => ({
      anchor,
      'service-doc': [{ href: `${baseUrl}/docs`, type: 'text/html' }],
    })),
  ],
});

/** The description for models (llmstxt.org). */
export const llmsText = ({ baseUrl, isSignInOffered }: GateAddress): string => `# Intent Gate

> Lets agents find, get permission for, and call third-party API operations (intents).

1. Find an intent in plain words: GET ${baseUrl}/api/intents/search?query=what+time+is+it&view=brief
2. Read its parameters: GET ${baseUrl}/api/intents/{intent_uid}?view=full
3. Read the usage policy, and show it to the person you work for: GET ${baseUrl}/api/policy
4. Sign the policy's text with a private key of your own (a compact JWS), and get a Policy Adherence Token (PAT): POST ${baseUrl}/api/pat/issue with agent_id, agent_public_key and signed_policy
5. Execute: POST ${baseUrl}/api/intents/execute with intent_uid and parameters, and the header Authorization: Bearer <PAT>

## Descriptions

- [OpenAPI document](${baseUrl}/openapi.json): every endpoint
- [Reference](${baseUrl}/docs): the same, to read and try
- [This gate and its intents](${baseUrl}/agents.json): for agents of the protocol

## Model Context Protocol

- [MCP server](${baseUrl}/mcp): four tools; accept_policy says how to get a PAT
${
  isSignInOffered
    ? `- [MCP server with sign-in](${baseUrl}/mcp/sign-in): the same for hosts that sign people in (OAuth)
`
    : ''
}`;
