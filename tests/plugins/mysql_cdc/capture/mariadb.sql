-- What only MariaDB has.
create table t_maria(id int primary key, u uuid, i6 inet6, i4 inet4, cv varchar(200) compressed, ct text compressed, cb blob compressed, cvb varbinary(300) compressed,
 cl varchar(200) character set latin1 compressed, inv int invisible default 7, js json, jv int as (json_value(js,'$.a')) virtual, b16 binary(16), d38 decimal(38,38));
insert into t_maria(id,u,i6,i4,cv,ct,cb,cvb,cl,js,b16,d38) values
 (1,'123e4567-e89b-12d3-a456-426614174000','2001:db8::ff00:42:8329','192.168.0.1',repeat('abcé',40),repeat('text ',200),repeat(0x00FF,300),repeat(0x01,250),repeat('é',100),'{"a": 5,  "b":"x"}',0x0102,0.00000000000000000000000000000000000001),
 (2,'00000000-0000-0000-0000-000000000000','::','0.0.0.0','','','','','','null','',0),
 (3,'ffffffff-ffff-4fff-bfff-ffffffffff00','::ffff:1.2.3.0','255.255.255.0','short','short',0x00,0x00,'s',null,0x00,-0.99999999999999999999999999999999999999),
 (4,null,null,null,null,null,null,null,null,null,null,null),
 (5,'01890a5d-ac96-774b-bcce-b302099a8057','fe80::','10.0.0.0','a','b',0x01,0x02,'c','[1]',0xFF,0.5);
update t_maria set inv=8, u='123e4567-e89b-12d3-a456-4266141740ff' where id=1;
create sequence if not exists sq;
create table t_hash(id int primary key, t text, unique(t));
insert into t_hash values(1,'x'),(2,repeat('y',100));
insert into t_types(nn,l1) values('2024-01-01',0xE9);
