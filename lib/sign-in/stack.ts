import { Duration } from 'aws-cdk-lib';
import { variables } from '../../functions/core/runtime/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';

const short = Duration.minutes(5);

export const signInStack: FeatureStack = {
  /** Adds the app client with which the gate signs people in. Its tokens never leave the gate and are not admin tokens. */
  create(_, { settings, admins }) {
    if (!settings.signIn) return undefined;
    const lifetimes = { accessTokenValidity: short, idTokenValidity: short, refreshTokenValidity: Duration.hours(1) };
    const { domain, clientId } = admins.addCodeClient('SignIn', '/oauth/signed-in', lifetimes);
    return {
      environment: ({ signIn }) => ({
        ...(signIn && {
          [variables.signInDomain]: domain,
          [variables.signInClient]: clientId,
          [variables.signInRedirects]: settings.signInRedirectUris.join(','),
          [variables.signInSeconds]: String(settings.signInSeconds),
          [variables.userPool]: admins.pool.userPoolId,
          [variables.patLifeSeconds]: String(settings.patLifeSeconds),
        }),
      }),
    };
  },
};
