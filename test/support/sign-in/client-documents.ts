/** What most descriptions say: codes and refresh tokens, without a secret. */
const usual = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

/** Documents in the form in which they are published: what counts of them, and addresses at which these programs want their answer. */
export const published: [name: string, document: Record<string, unknown> & { client_id: string }, redirects: string[]][] = [
  [
    'Claude',
    {
      ...usual,
      client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    },
    ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  ],
  [
    'Claude Code',
    {
      ...usual,
      client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    },
    ['http://localhost:8080/callback', 'http://localhost:53682/callback'],
  ],
  [
    'ChatGPT',
    {
      ...usual,
      client_id: 'https://chatgpt.com/oauth/client.json',
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    },
    ['https://chatgpt.com/connector_platform_oauth_redirect'],
  ],
  [
    'Visual Studio Code',
    {
      ...usual,
      client_id: 'https://vscode.dev/oauth/client-metadata.json',
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      grant_types: [...usual.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      application_type: 'native',
    },
    ['http://127.0.0.1:33418/', 'http://127.0.0.1:60123/', 'https://vscode.dev/redirect'],
  ],
  [
    'opencode',
    {
      ...usual,
      client_id: 'https://opencode.ai/oauth/opencode/client.json',
      client_name: 'opencode',
      client_uri: 'https://opencode.ai',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      token_endpoint_auth_methods_supported: ['none'],
    },
    ['http://127.0.0.1:19876/callback', 'http://localhost:19876/callback'],
  ],
];
