import { createServer } from 'node:http';
import { jest } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { close, listen } from '../../bin/local/http.ts';
import { openAdminVerifier } from '../../functions/core/admin/verify-admin.ts';

/** The verifier of admin tokens over a user pool of its own: a real key pair, its key set on a loopback port. */
export async function startAdmins() {
  const [userPool, clientId, machine, kid] = ['eu-west-1_Test00000', 'people', 'machine', 'key-1'];
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keySet = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' }] });
  const server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(keySet));
  const issuer = `https://cognito-idp.eu-west-1.amazonaws.com/${userPool}`;
  const port = await listen(server);
  const { fetch } = globalThis;
  // Calls the stand-in in place of the issuer, which nothing here may reach.
  const redirected = jest.spyOn(globalThis, 'fetch').mockImplementation((address, options) => {
    return fetch(address === `${issuer}/.well-known/jwks.json` ? `http://127.0.0.1:${port}` : address, options);
  });
  const sign = (claims: object, subject = 'somebody', expiry = '1h') =>
    new SignJWT({ token_use: 'access', client_id: clientId, scope: 'openid', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setIssuer(issuer)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime(expiry)
      .sign(privateKey);
  const tokenOf = (groups: string[]) => sign({ username: 'alice', 'cognito:groups': groups });
  const adminToken = await tokenOf(['admins']);
  return {
    verifyAdmin: openAdminVerifier({ userPool, clientIds: [clientId, machine], adminScope: 'intent-gate/admin' }),
    /** access tokens of an admin, and of a user who is not one */
    adminToken,
    userToken: await tokenOf([]),
    expiredToken: await sign({ 'cognito:groups': ['admins'] }, 'somebody', '-1s'),
    /** those of the admin */
    headers: { Authorization: `Bearer ${adminToken}` },
    /** an access token of a member of these groups */
    tokenOf,
    /** an access token of a machine client with these scopes */
    machineTokenOf: (scopes: string[]) => sign({ client_id: machine, scope: scopes.join(' ') }, machine),
    stop: () => {
      redirected.mockRestore();
      return close(server);
    },
  };
}
