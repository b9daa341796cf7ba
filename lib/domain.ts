import type { DomainNameOptions, SpecRestApi } from 'aws-cdk-lib/aws-apigateway';
import { EndpointType, SecurityPolicy } from 'aws-cdk-lib/aws-apigateway';
import { Certificate, CertificateValidation } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGateway } from 'aws-cdk-lib/aws-route53-targets';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

type Domain = NonNullable<Settings['domain']>;

/** The API's custom domain name, with a certificate validated through the hosted zone. */
export const domainOptions = (scope: Construct, { name, zone }: Domain): DomainNameOptions => ({
  domainName: name,
  certificate: new Certificate(scope, 'Certificate', {
    domainName: name,
    validation: CertificateValidation.fromDns(HostedZone.fromHostedZoneAttributes(scope, 'CertificateZone', zone)),
  }),
  endpointType: EndpointType.REGIONAL,
  securityPolicy: SecurityPolicy.TLS_1_2,
});

/** The API serves IPv4 only. */
export function addRecord(scope: Construct, { name, zone: attributes }: Domain, rest: SpecRestApi): void {
  const zone = HostedZone.fromHostedZoneAttributes(scope, 'Zone', attributes);
  new ARecord(scope, 'Ipv4', { zone, recordName: `${name}.`, target: RecordTarget.fromAlias(new ApiGateway(rest)) });
}
