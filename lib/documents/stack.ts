import { Duration } from 'aws-cdk-lib';
import { variables } from '../../functions/core/runtime/environment.ts';
import type { FeatureStack } from '../feature-resources.ts';
import { toOpenApi } from './document.ts';
import { policyFileSchema } from './policy-schema.ts';

export const documentsStack: FeatureStack = {
  /** With the setting `adminSignIn`, adds the app client of the console. Its tokens are admin tokens, which the console keeps in memory. */
  create(_, { settings, admins }) {
    const client = settings.adminSignIn
      ? admins.addCodeClient('Console', '/console', { refreshTokenValidity: Duration.hours(8) })
      : undefined;
    if (client) admins.clientIds.push(client.clientId);
    const { localUpstreams, catalogue } = settings;
    return {
      environment: ({ adminSignIn, documents }) => ({
        ...(documents === 'console' && catalogue !== 'public' && { [variables.catalogue]: catalogue }),
        ...(adminSignIn && localUpstreams.length > 0 && { [variables.localUpstreams]: localUpstreams.join(',') }),
        ...(adminSignIn && client && { [variables.signInDomain]: client.domain, [variables.consoleClient]: client.clientId }),
      }),
    };
  },
  files({ settings, policy, build }) {
    const pages = build.buildPages(settings.protocol);
    const prepared: typeof pages = {
      ...pages,
      openapi: { 'openapi.json': JSON.stringify(toOpenApi({ ...settings, policy })) },
      assets: { ...pages.assets, 'assets/policy.schema.json': JSON.stringify(policyFileSchema()) },
    };
    return ({ documents = '' }) => prepared[documents] ?? {};
  },
};
