import { openUserPool } from '../../../functions/sign-in/user-pool.ts';
import type { TestedFeature } from '../feature.ts';

export const signIn: TestedFeature = {
  keepingClients(endpoint) {
    const userPool = openUserPool({ userPool: 'eu-west-1_Abc123', domain: endpoint, clientId: 'gate' });
    // the token of the peer is none
    const finish = () => userPool.finish('code', userPool.begin(), endpoint).catch(({ name }) => (name === 'ZodError' ? 200 : 0));
    return { 'user pool': finish };
  },
};
