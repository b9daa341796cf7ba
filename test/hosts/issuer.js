// An authorization server that nobody here wrote. Prints its port, then a line for each grant.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [library, redirectUri, lifeSeconds] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(library).href);
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const life = () => Number(lifeSeconds);
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: 'gate',
        client_secret: 'canary-secret-of-the-client',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      },
    ],
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    features: { devInteractions: { enabled: true }, clientCredentials: { enabled: true }, revocation: { enabled: true } },
    ttl: { AccessToken: life, ClientCredentials: life, Interaction: 600, Grant: 3_600, Session: 3_600, IdToken: 600, RefreshToken: 3_600 },
    cookies: { keys: ['key of the test'] },
  });
  for (const event of ['grant.success', 'grant.error', 'grant.revoked'])
    provider.on(event, (context) => console.log(`${event} ${context.oidc?.params?.grant_type ?? ''}`));
  server.on('request', provider.callback());
  console.log(`port ${port}`);
});
