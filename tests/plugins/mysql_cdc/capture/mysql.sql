-- What only MySQL has.
create table t_json(id int primary key, j json);
insert into t_json values(1,'{"a":1,"bb":[true,false,null,-1,65535,-32769,65536,2147483648,4294967296,-9223372036854775808,18446744073709551615,1.5,1e15,1e16,1e-7,1e-16,-0.0,100.0,1234567890123456.8,0.1]}'),
 (2,json_object('dec',cast(12345678901234567890.123456789 as decimal(30,9)),'neg',cast(-0.5 as decimal(5,2)),'d',cast('2024-02-29' as date),'t',cast('-838:59:59' as time),'t2',cast('100:00:00.5' as time(6)),'dt',cast('2024-02-29 23:59:58.5' as datetime(6)),'bit',b'1010','bin',cast(repeat('x',100) as binary),'ts',timestamp('1999-12-31 00:00:00'))),
 (5,'"\\u0000\\u0001\\u001f\\b\\f\\n\\r\\t\\"\\\\/\\u007f😀"'),(6,'null'),(7,'true'),(8,'-5'),(9,'1.25'),(10,'{}'),(11,'[]'),(12,null),(13,'{"é":{"k":[{"x":[[[]]]}]}}'),(14,'3000000000'),(15,'9223372036854775808'),(16,concat('"',repeat('é',200),'"')),
 (17,cast(b'101' as json)),(18,cast(cast('2024-01-01' as date) as json)),(19,json_array(1e300,5e-324,0.30000000000000004,123456789012345.69,12345678901234567890.5));
update t_json set j=json_set(j,'$.a',2) where id=1;
create table t_json_large(id int primary key, j json);
insert into t_json_large values(3,concat('{"big":"',repeat('x',70000),'","n":[',repeat('1,',100),'2]}')),
 (4,concat('[',repeat('123456789,',9000),'1]'));
create table t_geo_srid(id int primary key, p point srid 4326 not null);
insert into t_geo_srid values(1,ST_GeomFromText('POINT(52.5 13.4)',4326));
create table t_func(id int primary key, a varchar(20), b json, key k1((upper(a))), key k2((cast(b->'$.n' as signed))));
insert into t_func values(1,'abc','{"n":5}'),(2,null,null);
update t_func set a='x' where id=2;
create table t_gb18030(id int primary key, g varchar(50) character set gb18030);
insert into t_gb18030 values(1,'中文😀é€ㄅ'),(2,convert(unhex('A6D9FE51FE598139EF30A989') using gb18030));
insert into t_types(nn,l1) values('2024-01-01','é');
