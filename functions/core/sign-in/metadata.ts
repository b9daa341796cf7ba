import { type ApiResponse, revalidated } from '../http/response.ts';

/**
 * What a resource says about how to get a token for it (RFC 9728 section 2).
 * @param resource - as `isResource` takes it
 */
export const describeResource = (resource: string, baseUrl: string): ApiResponse =>
  revalidated({
    resource,
    resource_name: 'Intent Gate',
    authorization_servers: [baseUrl],
    bearer_methods_supported: ['header'],
    resource_documentation: `${baseUrl}/docs`,
    resource_policy_uri: `${baseUrl}/docs#policy`,
  });
